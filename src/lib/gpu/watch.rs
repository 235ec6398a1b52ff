//! The part of the sampler that deals with trouble: GPUs that hang or are gone, drivers that start anew.

use std::time::Instant;

use super::encode::{self, Header};
use super::sampler::{HANGS_AFTER, Note, SLOW_START, SampleError, Sampler, State};
use super::session::{self, Answer, Opened, Opening, Session, What, Word};
use super::{GpuError, Trouble};

impl Sampler<'_> {
    /// Looks for calls that have not come back.
    pub(super) fn watch(&mut self, now: Instant) {
        let mut said = Vec::new();
        match &mut self.state {
            State::Open(session) => {
                for worker in session.workers.iter_mut().filter(|worker| worker.is_awaited()) {
                    let Some(since) = worker.busy.map(|busy| now.saturating_duration_since(busy)) else {
                        continue;
                    };
                    if since >= HANGS_AFTER {
                        worker.hangs = true;
                        let place = worker.card.or_else(|| self.cards.at(worker.gpu));
                        said.extend(place.and_then(|place| self.cards.hangs(place, since, now)));
                    }
                }
            }
            State::Opening { since, told } if !*told && now >= *since + SLOW_START => {
                *told = true;
                let waited = SLOW_START.as_secs();
                said.push(format!(
                    "the driver has not started for {waited} s; hint: does nvidia-smi answer?"
                ));
            }
            _ => {}
        }
        for text in said {
            self.last_trouble = Some(text.clone());
            (self.say)(Note::Warning(text));
        }
    }

    /// Opens the driver when that is due, because it is gone or a GPU of it is.
    pub(super) fn reopen(&mut self, now: Instant) {
        if let State::Gone { left, until } = &mut self.state {
            if *until <= now {
                let left = left.take();
                self.open(true, left, now);
            }
            return;
        }
        let State::Open(session) = &self.state else { return };
        let due = self.look_again.is_some_and(|at| at <= now);
        // Between two ticks, so that no answer on its way is lost.
        if !due || session.is_awaited() || !self.lines.is_empty() {
            return;
        }
        // While a call hangs the driver cannot be let go of, and would not start anew.
        if session.hangs() {
            self.look_again = Some(now + self.gpu_backoff.failed(now));
            return;
        }
        self.look_again = None;
        (self.say)(Note::Detail("looks for the GPUs that are gone".to_owned()));
        let fresh = !session.workers.iter().any(|worker| worker.is_free());
        let State::Open(session) =
            std::mem::replace(&mut self.state, State::Opening { since: now, told: false })
        else {
            return;
        };
        self.open(fresh, Some(session), now);
    }

    fn open(&mut self, fresh: bool, mut before: Option<Session>, now: Instant) {
        before.iter_mut().flat_map(|session| &mut session.workers).for_each(|worker| worker.dismiss());
        self.state = State::Opening { since: now, told: false };
        session::open(self.source.clone(), fresh, before, self.sender.clone());
    }

    /// The driver was opened, or not.
    ///
    /// # Errors
    /// There is no driver at all, or no GPU, and never was.
    pub(super) fn opened(&mut self, opening: Opening) -> Result<(), SampleError> {
        let now = Instant::now();
        let Opening { opened, left_behind } = opening;
        self.left_behind |= left_behind;
        let never_tried = self.sessions == 0 && self.last_error.is_none();
        let opened = opened.and_then(|opened| match opened.gpus {
            0 => Err(GpuError { trouble: Trouble::NoDriver, message: "the driver has no GPU".to_owned() }),
            _ => Ok(opened),
        });
        let Opened { driver, gpus } = match opened {
            Ok(opened) => opened,
            Err(error) if never_tried && is_final(error.trouble) => return Err(SampleError::NoDevice(error)),
            Err(error) => {
                self.gone(None, &error, now);
                return Ok(());
            }
        };
        let chosen: Vec<u32> = match (&self.settings.gpus, self.sessions) {
            (Some(chosen), 0) => chosen.clone(),
            // Later the choice is by card, and which card is where shows when it is open.
            _ => (0..gpus).collect(),
        };
        if let Some(&missing) = chosen.iter().find(|gpu| **gpu >= gpus) {
            return Err(SampleError::NoSuchGpu { missing, gpus });
        }
        self.sessions += 1;
        self.counted = false;
        if self.last_error.take().is_some() {
            (self.say)(Note::Warning(format!("the driver works ({})", driver.about())));
        } else {
            (self.say)(Note::Detail(format!("{}: {gpus} GPUs", driver.about())));
        }
        self.state = State::Open(Session::start(self.sessions, driver, chosen, &self.sender));
        Ok(())
    }

    /// The whole driver is gone; it is opened again after a while.
    fn gone(&mut self, mut left: Option<Session>, error: &GpuError, now: Instant) {
        left.iter_mut().flat_map(|session| &mut session.workers).for_each(|worker| worker.dismiss());
        let wait = self.driver_backoff.failed(now);
        let text = error.to_string();
        self.last_trouble = Some(text.clone());
        // Said again only when it is something else.
        if self.last_error.as_ref() != Some(&text) {
            (self.say)(Note::Warning(format!("the driver does not work: {text}; tries again and again")));
            self.last_error = Some(text);
        }
        self.look_again = None;
        self.state = State::Gone { left, until: now + wait };
    }

    /// Takes in what a GPU's thread says.
    pub(super) fn hear(&mut self, word: Word) {
        let now = Instant::now();
        let State::Open(session) = &mut self.state else { return };
        if session.number != word.session {
            return;
        }
        let Some(worker) = session.workers.get_mut(word.worker) else { return };
        let waited = worker.busy.take().map(|busy| now.saturating_duration_since(busy)).unwrap_or_default();
        let hung = std::mem::take(&mut worker.hangs);
        if hung {
            let place = worker.card.or_else(|| self.cards.at(worker.gpu));
            let text = place.and_then(|place| self.cards.answers_again(place, waited));
            text.into_iter().for_each(|text| (self.say)(Note::Warning(text)));
        }
        match word.what {
            What::Met(identity) => {
                let (card, note) = self.cards.meet(worker.gpu, &identity);
                note.into_iter().for_each(|text| (self.say)(Note::Warning(text)));
                worker.card = card;
                worker.identity = Some(identity);
                if card.is_none() {
                    worker.dismiss();
                }
            }
            // Of a moment that is long past.
            What::Read(_) if hung => {}
            What::Read(answer) => self.take(word.worker, *answer),
            What::Failed(error) => {
                worker.dismiss();
                self.failed(word.worker, &error, now);
            }
        }
        self.count_cards(now);
    }

    /// Makes records of an answer.
    fn take(&mut self, worker: usize, answer: Answer) {
        let State::Open(session) = &self.state else { return };
        let Some(worker) = session.workers.get(worker) else { return };
        let Some((place, identity)) = worker.card.zip(worker.identity.as_ref()) else { return };
        self.ended.readings += 1;
        let header = Header {
            ts: answer.ts,
            node: &self.settings.node,
            gpu: worker.gpu,
            uuid: Some(&identity.uuid),
            model: identity.model.as_deref(),
        };
        let mut note = None;
        if !answer.reading.lacks.is_empty() {
            note = self.cards.lacks(place, &answer.reading.lacks, self.settings.health);
        }
        encode::reading(header, answer.reading, &mut self.lines);
        match answer.processes {
            Some(Ok(processes)) => encode::processes(header, processes, &mut self.lines),
            Some(Err(error)) => note = note.or_else(|| self.cards.no_processes(place, &error)),
            None => {}
        }
        note.into_iter().for_each(|text| (self.say)(Note::Warning(text)));
    }

    /// A GPU is gone, or with it the whole driver.
    fn failed(&mut self, worker: usize, error: &GpuError, now: Instant) {
        if matches!(error.trouble, Trouble::Driver | Trouble::NoDriver) {
            let nowhere = State::Gone { left: None, until: now };
            if let State::Open(session) = std::mem::replace(&mut self.state, nowhere) {
                self.gone(Some(session), error, now);
            }
            return;
        }
        let State::Open(session) = &self.state else { return };
        let Some(worker) = session.workers.get(worker) else { return };
        let place = worker.card.or_else(|| self.cards.at(worker.gpu));
        let text = place.and_then(|place| self.cards.lose(place, error));
        if let Some(text) = text {
            self.last_trouble = Some(text.clone());
            (self.say)(Note::Warning(format!("{text}; the others go on")));
        }
        self.look_again_later(now);
    }

    /// A GPU that is gone is looked for again, by starting the driver anew.
    fn look_again_later(&mut self, now: Instant) {
        if self.look_again.is_none() && self.cards.any_lost() {
            self.look_again = Some(now + self.gpu_backoff.failed(now));
        }
    }

    /// Once all GPUs of a session have opened or failed: cards that are none of them are gone.
    fn count_cards(&mut self, now: Instant) {
        let State::Open(session) = &self.state else { return };
        if self.counted || session.workers.iter().any(|w| w.is_wanted() && w.identity.is_none()) {
            return;
        }
        self.counted = true;
        let present: Vec<usize> = session
            .workers
            .iter()
            .filter(|worker| worker.is_wanted())
            .filter_map(|worker| worker.card)
            .collect();
        for text in self.cards.lose_absent(&present) {
            (self.say)(Note::Warning(format!("{text}; the others go on")));
        }
        self.look_again_later(now);
    }
}

/// Whether waiting would not help.
fn is_final(trouble: Trouble) -> bool {
    matches!(trouble, Trouble::NoLibrary | Trouble::NoDriver | Trouble::Denied)
}

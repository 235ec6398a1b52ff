//! Which cards were seen, and what has been said about each.
//!
//! A card is known by its UUID. Its index can change when the driver starts anew and another card is gone,
//! so records follow the index that it has now, and `--gpus` goes on to mean the cards that it meant at first.

use std::time::{Duration, Instant};

use super::{GpuError, Identity, Lack, Trouble};

/// A trouble that lasts is said again this late.
const SAY_AGAIN: Duration = Duration::from_secs(600);

/// A card that was seen, or asked for.
#[derive(Debug)]
struct Card {
    gpu: u32,
    /// `None` until it could be asked.
    uuid: Option<String>,
    lost: bool,
    /// We may not read it, which does not change by waiting.
    denied: bool,
    /// Values that it was said to lack.
    lacks: Vec<&'static str>,
    hang_said: Option<Instant>,
    /// Whether that was about the call that hangs now.
    hang_is_known: bool,
    processes_said: bool,
}

impl Card {
    fn new(gpu: u32, uuid: Option<&str>) -> Self {
        let uuid = uuid.map(str::to_owned);
        Self {
            gpu,
            uuid,
            lost: false,
            denied: false,
            lacks: Vec::new(),
            hang_said: None,
            hang_is_known: false,
            processes_said: false,
        }
    }

    fn label(&self) -> String {
        match &self.uuid {
            Some(uuid) => format!("GPU {} ({uuid})", self.gpu),
            None => format!("GPU {}", self.gpu),
        }
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Cards {
    /// Indices that were asked for; `None` is all there are.
    chosen: Option<Vec<u32>>,
    cards: Vec<Card>,
}

impl Cards {
    pub(super) fn new(chosen: Option<Vec<u32>>) -> Self {
        let asked = chosen.iter().flatten().map(|gpu| Card::new(*gpu, None)).collect();
        Self { chosen, cards: asked }
    }

    /// A card opened at `gpu`. Which it is, or `None` when it is none that was asked for. What comes back
    /// beside it is worth saying.
    pub(super) fn meet(&mut self, gpu: u32, identity: &Identity) -> (Option<usize>, Option<String>) {
        let uuid = Some(identity.uuid.as_str());
        let known = self.cards.iter().position(|card| card.uuid.as_deref() == uuid);
        let nameless = || self.cards.iter().position(|card| card.uuid.is_none() && card.gpu == gpu);
        let place = match known.or_else(nameless) {
            Some(place) => place,
            None if self.chosen.is_none() => {
                self.cards.push(Card::new(gpu, None));
                self.cards.len() - 1
            }
            None => return (None, None),
        };
        let Some(card) = self.cards.get_mut(place) else { return (None, None) };
        let before = card.uuid.is_some().then_some(card.gpu);
        card.gpu = gpu;
        card.uuid = Some(identity.uuid.clone());
        card.denied = false;
        let back = std::mem::take(&mut card.lost);
        let label = card.label();
        let note = match before {
            Some(before) if before != gpu => Some(format!("{label} was GPU {before} before")),
            _ if back => Some(format!("{label} is back")),
            _ => None,
        };
        (Some(place), note)
    }

    /// The card of a GPU that could not be opened.
    pub(super) fn at(&mut self, gpu: u32) -> Option<usize> {
        if let Some(place) = self.cards.iter().position(|card| card.gpu == gpu) {
            return Some(place);
        }
        if self.chosen.is_some() {
            return None;
        }
        self.cards.push(Card::new(gpu, None));
        Some(self.cards.len() - 1)
    }

    /// A card is gone. `None` when that was known.
    pub(super) fn lose(&mut self, place: usize, error: &GpuError) -> Option<String> {
        let card = self.cards.get_mut(place)?;
        let known = card.lost || card.denied;
        if error.trouble == Trouble::Denied {
            card.denied = true;
        } else {
            card.lost = !card.denied;
        }
        (!known).then(|| format!("{}: {error}", card.label()))
    }

    /// Cards that are none of `present`, and were not known to be gone: each with what to say.
    pub(super) fn lose_absent(&mut self, present: &[usize]) -> Vec<String> {
        let absent = |place: &usize| !present.contains(place);
        let places: Vec<usize> = (0..self.cards.len()).filter(absent).collect();
        let error =
            GpuError { trouble: Trouble::Gone, message: "the driver does not know it any more".to_owned() };
        places.into_iter().filter_map(|place| self.lose(place, &error)).collect()
    }

    /// Whether a card is gone that can come back.
    pub(super) fn any_lost(&self) -> bool {
        self.cards.iter().any(|card| card.lost)
    }

    /// A reading lacks values. What has not been said yet about them.
    pub(super) fn lacks(&mut self, place: usize, lacks: &[Lack], health: bool) -> Option<String> {
        let card = self.cards.get_mut(place)?;
        let new: Vec<String> = lacks
            .iter()
            .filter(|lack| !card.lacks.contains(&lack.what))
            .map(|lack| format!("no {} ({})", lack.what, lack.why))
            .collect();
        if new.is_empty() {
            return None;
        }
        card.lacks.extend(lacks.iter().map(|lack| lack.what));
        let hint = if health { "" } else { "; hint: --health records what there is" };
        Some(format!(
            "{}: {}; left out of gpu_util, which cannot hold null{hint}",
            card.label(),
            new.join(", ")
        ))
    }

    /// Its processes cannot be listed. `None` when that was said.
    pub(super) fn no_processes(&mut self, place: usize, error: &GpuError) -> Option<String> {
        let card = self.cards.get_mut(place)?;
        let said = std::mem::replace(&mut card.processes_said, true);
        (!said).then(|| format!("{}: no list of its processes ({error})", card.label()))
    }

    /// A call to it does not come back. `None` when that was said a while ago.
    pub(super) fn hangs(&mut self, place: usize, since: Duration, now: Instant) -> Option<String> {
        let card = self.cards.get_mut(place)?;
        if card.hang_said.is_some_and(|said| now < said + SAY_AGAIN) {
            return None;
        }
        card.hang_said = Some(now);
        card.hang_is_known = true;
        let label = card.label();
        Some(format!("{label}: the driver has not answered for {} s; the others go on", since.as_secs()))
    }

    /// A call to it came back after all. `None` when nobody was told that it did not.
    pub(super) fn answers_again(&mut self, place: usize, after: Duration) -> Option<String> {
        let card = self.cards.get_mut(place)?;
        std::mem::take(&mut card.hang_is_known)
            .then(|| format!("{}: the driver answers again, after {} s", card.label(), after.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(uuid: &str) -> Identity {
        Identity { uuid: uuid.to_owned(), model: None }
    }

    #[test]
    fn a_card_is_known_by_its_uuid_when_its_index_changes() {
        let mut cards = Cards::new(None);
        assert_eq!(cards.meet(0, &card("a")), (Some(0), None));
        assert_eq!(cards.meet(1, &card("b")), (Some(1), None));
        let (place, note) = cards.meet(0, &card("b"));
        assert_eq!(place, Some(1));
        assert_eq!(note.unwrap(), "GPU 0 (b) was GPU 1 before");
    }

    #[test]
    fn a_choice_follows_the_cards_that_it_meant() {
        let mut cards = Cards::new(Some(vec![2]));
        assert_eq!(cards.meet(2, &card("c")).0, Some(0));
        assert_eq!(cards.meet(2, &card("d")).0, None);
        assert_eq!(cards.meet(1, &card("c")).0, Some(0));
        assert_eq!(cards.at(2), None);
    }

    #[test]
    fn a_loss_is_said_once_and_so_is_a_lack() {
        let mut cards = Cards::new(None);
        cards.meet(0, &card("a"));
        let gone = GpuError { trouble: Trouble::Gone, message: "fell off the bus".to_owned() };
        assert_eq!(cards.lose(0, &gone).unwrap(), "GPU 0 (a): fell off the bus");
        assert_eq!(cards.lose(0, &gone), None);
        assert!(cards.any_lost());
        assert_eq!(cards.meet(0, &card("a")).1.unwrap(), "GPU 0 (a) is back");
        let lack = [Lack { what: "power", why: "not supported".to_owned() }];
        assert!(cards.lacks(0, &lack, false).unwrap().contains("no power (not supported)"));
        assert_eq!(cards.lacks(0, &lack, false), None);
    }

    #[test]
    fn a_card_that_hangs_again_and_again_is_said_once_in_a_while() {
        let mut cards = Cards::new(None);
        cards.meet(0, &card("a"));
        let (now, long) = (Instant::now(), Duration::from_secs(7));
        assert!(cards.hangs(0, long, now).unwrap().contains("for 7 s"));
        assert!(cards.answers_again(0, long).is_some());
        assert_eq!(cards.hangs(0, long, now + long), None);
        assert_eq!(cards.answers_again(0, long), None);
        assert!(cards.hangs(0, long, now + SAY_AGAIN).is_some());
    }

    #[test]
    fn cards_that_a_new_start_does_not_show_are_lost() {
        let mut cards = Cards::new(None);
        cards.meet(0, &card("a"));
        cards.meet(1, &card("b"));
        let said = cards.lose_absent(&[0]);
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("GPU 1 (b): "), "{said:?}");
        assert!(cards.lose_absent(&[0]).is_empty());
    }
}

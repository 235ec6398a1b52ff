"""What a training process calls: one `Telemetry` with a method for each kind of record.

Every method returns at once and raises nothing. Without a collector's address each is a comparison and a return.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from .arguments import curated
from .emitter import MAX_QUEUED, Emitter, Stats
from .identity import ROLLOUT_MANAGER, TRAIN, Resolver, Role
from .link import Address, AddressError
from .phases import Phase, PhaseSink, Put
from .trajectories import Span, Trajectories
from .values import MISSING, Record, scalar, snapshot

logger = logging.getLogger("miles_telemetry")

ADDRESS_VARIABLE: Final = "MILES_COLLECT"
"""The environment variable that names the collector: `tcp://host:port` or `unix:/path`."""
DEFAULT_RUN_NAME: Final = "miles-run"


@dataclasses.dataclass(frozen=True)
class Engine:
    """An engine of the topology."""

    addr: str
    worker_type: str = "regular"
    engine_rank: int | None = None
    """Its place in the list by default; -1 for an external engine."""
    gpus: Sequence[tuple[str, int]] = ()
    """(node, index) of each GPU; empty for an external engine."""
    gpu_uuids: Sequence[str | None] | None = None
    """One a GPU; unknown by default."""


class Telemetry:
    """A process's telemetry. Most processes need one only, which the functions of this package use.

    `address` is that of the collector, by default what MILES_COLLECT says; without either, nothing happens at all.
    `role`, `node`, `gpus` and `rank` say who the process is; what is left out is found when it is first needed.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        role: Role = "train",
        node: str | None = None,
        gpus: Sequence[int] | None = None,
        rank: int | None = None,
        max_queued: int = MAX_QUEUED,
    ) -> None:
        self._emitter = _emitter(os.environ.get(ADDRESS_VARIABLE, "") if address is None else address, max_queued)
        self._put: Put | None = None if self._emitter is None else self._emitter.put
        self._who = _resolver(role, node, gpus, rank)
        self._sinks: dict[Role, PhaseSink] = {}
        self._started = False
        self._engines = ""
        self._engines_told = (-1, -1)
        self.trajectories = Trajectories(self._put)
        """The lifecycle of samples; also what miles' lifecycle seam takes for its sink."""

    @property
    def enabled(self) -> bool:
        """Whether records go anywhere."""
        return self._put is not None

    def replace(self, before: Telemetry) -> None:
        """Takes the place of another: shares its connection where the collector is the same, else ends it in the background
        after what it has queued. Nothing may have been told to this one yet."""
        old, new = before._emitter, self._emitter
        if old is None:
            return
        if new is not None and not old.is_closed and old.address.target == new.address.target:
            self._emitter, self._put = old, old.put
            self.trajectories = before.trajectories
        else:
            old.retire(new)

    # ---- phases

    def begin(self, name: str, t0: float | None = None) -> Phase:
        """Begins a phase now, or at `t0`; `close()` on what it returns ends it."""
        return Phase(name, self._put, self._who.identity).begin(t0)

    def phase(self, name: str) -> Phase:
        """A phase as a context manager, with or without `async`."""
        return Phase(name, self._put, self._who.identity)

    def phase_sink(self, role: Role | None = None) -> PhaseSink:
        """What miles' Timer wants: `Timer().event_sinks.append(telemetry.phase_sink())`. One object a role."""
        role = role or self._who.role
        sink = self._sinks.get(role)
        if sink is None:
            who = self._who if role == self._who.role else self._who.as_role(role)
            sink = self._sinks.setdefault(role, PhaseSink(self._put, who.identity))
        return sink

    # ---- samples

    def attempt_start(self, sample: Any) -> None:
        """See `Trajectories.attempt_start`."""
        self.trajectories.attempt_start(sample)

    def attempt_end(self, sample: Any) -> None:
        """See `Trajectories.attempt_end`."""
        self.trajectories.attempt_end(sample)

    def gen_start(self, sample: Any) -> None:
        """See `Trajectories.gen_start`."""
        self.trajectories.gen_start(sample)

    def gen_span(
        self, sample: Any, t0: float | None = None, t1: float | None = None, turn: int | None = None, detail: str = ""
    ) -> Span:
        """See `Trajectories.gen_span`."""
        return self.trajectories.gen_span(sample, t0, t1, turn, detail)

    def tool_span(
        self, sample: Any, t0: float | None = None, t1: float | None = None, turn: int | None = None, detail: str = ""
    ) -> Span:
        """See `Trajectories.tool_span`."""
        return self.trajectories.tool_span(sample, t0, t1, turn, detail)

    # ---- the rest

    def data_buffer(self, length: int | None) -> None:
        """How many samples wait in the data buffer; None, as of a source without a buffer, says nothing."""
        if self._put is None or length is None:
            return
        try:
            self._put({"stream": "data_buffer", "ts": time.time(), "length": int(length)})
        except Exception:  # never into the training loop
            pass

    def metrics(self, step_key: str | None, step: int | None, values: Mapping[str, Any]) -> None:
        """One logging call. Numbers, bools and text are kept, also out of arrays and tensors of one element, read now;
        everything else, NaN and the infinities among it, is left out."""
        if self._put is None:
            return
        try:
            kept = snapshot(values)
            self._put(
                {
                    "stream": "metrics",
                    "ts": time.time(),
                    "step_key": None if step_key is None else str(step_key),
                    "step": _integer(step),
                    "metrics": kept,
                }
            )
        except Exception:  # never into the training loop
            pass

    def topology(self, engines: Iterable[Engine | Mapping[str, Any] | Any]) -> None:
        """The engines that serve from now on: `Engine`s, mappings, or objects with the same names. The same list as before
        is not sent again, unless something was lost since."""
        if self._put is None or self._emitter is None:
            return
        try:
            listed = [_engine(place, engine) for place, engine in enumerate(engines)]
            text = json.dumps(listed)
            stats = self._emitter.stats()
            told = (stats.dropped, max(1, stats.connects))
            if text == self._engines and told == self._engines_told:
                return
            self._engines, self._engines_told = text, told
            self._put({"stream": "topology", "ts": time.time(), "engines": listed})
        except Exception:  # never into the training loop
            logger.warning("left out a topology that cannot be understood", exc_info=True)

    def run_args(self, args: Any, run_name: str | None = None) -> None:
        """The run's arguments for meta.json: scalars of a namespace, dataclass or mapping, without secrets. One process of
        a run tells them, when an attempt starts: the first call is taken for that start. The name is wandb's group by
        default, as in the job."""
        if self._put is None:
            return
        try:
            kept = curated(args)
            name = run_name or kept.get("wandb_group") or DEFAULT_RUN_NAME
            record: Record = {"stream": "meta", "run_name": str(name), "args": kept}
            if not self._started:
                self._started = True
                # A collector that runs as a service has been there for longer than this attempt.
                record["start_ts"] = time.time()
            self._put(record)
        except Exception:  # never into the training loop
            logger.warning("left out run arguments that cannot be understood", exc_info=True)

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Waits until everything is handed to the system; False if that takes longer."""
        return True if self._emitter is None else self._emitter.flush(timeout_s)

    def close(self, timeout_s: float | None = None) -> None:
        """Sends what waits and ends; done at the end of the process anyway."""
        if self._emitter is not None:
            self._emitter.close(timeout_s)

    def stats(self) -> Stats:
        """Counts of this process."""
        return Stats(0, 0, 0, 0, 0, False) if self._emitter is None else self._emitter.stats()


def _emitter(address: str, max_queued: int) -> Emitter | None:
    if not address.strip():
        return None
    try:
        return Emitter(Address.parse(address), max_queued=max_queued)
    except AddressError as error:
        logger.warning("telemetry is off: %s", error)
    except Exception:
        logger.warning("telemetry is off", exc_info=True)
    return None


def _resolver(role: Role, node: str | None, gpus: Sequence[int] | None, rank: int | None) -> Resolver:
    if role not in (TRAIN, ROLLOUT_MANAGER):
        logger.warning("unknown role %r, taken for %r", role, TRAIN)
        role = "train"
    try:
        return Resolver(role, node, gpus, rank)
    except Exception:
        logger.warning("gpus %r and rank %r are no numbers; looked up instead", gpus, rank)
        return Resolver(role, node)


def _integer(value: Any) -> int | None:
    """A step as an int; None for one that is none."""
    plain = scalar(value)
    if plain is MISSING or isinstance(plain, (str, bool)):
        return None
    if isinstance(plain, float) and not plain.is_integer():
        return None
    return int(plain)


def _engine(place: int, engine: Any) -> Record:
    def get(name: str) -> Any:
        return engine.get(name) if isinstance(engine, Mapping) else getattr(engine, name, None)

    gpus = [[str(node), int(gpu)] for node, gpu in (get("gpus") or ())]
    uuids = get("gpu_uuids")
    rank = get("engine_rank")
    return {
        "addr": str(get("addr")),
        "worker_type": str(get("worker_type") or "regular"),
        "engine_rank": place if rank is None else int(rank),
        "gpus": gpus,
        "gpu_uuids": [None] * len(gpus) if uuids is None else [None if u is None else str(u) for u in uuids],
    }

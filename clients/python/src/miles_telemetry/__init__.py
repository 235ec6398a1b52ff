"""Telemetry of a miles training process, sent to miles-collect.

    MILES_COLLECT=tcp://head:7799 python train.py

    import miles_telemetry as telemetry

    with telemetry.phase("actor_train"):
        ...
    telemetry.metrics("train/step", step, {"train/loss": loss})

The functions here are those of one `Telemetry` that is made at the first call. Nothing here waits for the collector
or raises into the caller, and without MILES_COLLECT nothing happens at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .client import ADDRESS_VARIABLE, Engine, Telemetry
from .emitter import Stats
from .identity import Role
from .phases import Phase, PhaseSink
from .trajectories import Span, Trajectories

__version__ = "0.1.0"

__all__ = [
    "ADDRESS_VARIABLE",
    "Engine",
    "Phase",
    "PhaseSink",
    "Role",
    "Span",
    "Stats",
    "Telemetry",
    "Trajectories",
    "attempt_end",
    "attempt_start",
    "begin",
    "close",
    "configure",
    "data_buffer",
    "default",
    "flush",
    "gen_span",
    "gen_start",
    "metrics",
    "phase",
    "phase_sink",
    "run_args",
    "stats",
    "tool_span",
    "topology",
    "trajectory_sink",
]

_default: Telemetry | None = None


def default() -> Telemetry:
    """The process's own `Telemetry`."""
    global _default
    found = _default
    if found is None:
        # Two threads at once make two, one of which is never used and starts nothing.
        found = _default = Telemetry()
    return found


def configure(
    address: str | None = None,
    *,
    role: Role = "train",
    node: str | None = None,
    gpus: Sequence[int] | None = None,
    rank: int | None = None,
) -> Telemetry:
    """Says who the process is, and where the collector is if not where MILES_COLLECT says. Call it before the rest: a
    phase that was begun before ends as what it began as. Called again, the former connection is shared, or ended in the
    background if it led elsewhere."""
    global _default
    made = Telemetry(address, role=role, node=node, gpus=gpus, rank=rank)
    if _default is not None:
        made.replace(_default)
    _default = made
    return made


def phase(name: str) -> Phase:
    """A phase as a context manager, with or without `async`."""
    return default().phase(name)


def begin(name: str, t0: float | None = None) -> Phase:
    """Begins a phase; `close()` on what it returns ends it."""
    return default().begin(name, t0)


def phase_sink(role: Role | None = None) -> PhaseSink:
    """What miles' Timer wants: `Timer().event_sinks.append(telemetry.phase_sink())`."""
    return default().phase_sink(role)


def trajectory_sink() -> Trajectories:
    """What miles' lifecycle seam wants: `TrajectoryLifecycle().sink = telemetry.trajectory_sink()`."""
    return default().trajectories


def attempt_start(sample: Any) -> None:
    """The sample is handed out to be generated."""
    default().trajectories.attempt_start(sample)


def attempt_end(sample: Any) -> None:
    """The sample, or the list of samples of one attempt, is done."""
    default().trajectories.attempt_end(sample)


def gen_start(sample: Any) -> None:
    """Generation begins, turns untold; the end of the attempt is its end."""
    default().trajectories.gen_start(sample)


def gen_span(
    sample: Any, t0: float | None = None, t1: float | None = None, turn: int | None = None, detail: str = ""
) -> Span:
    """The engine generates the sample's next turn: a context manager, or written at once when both times are told."""
    return default().trajectories.gen_span(sample, t0, t1, turn, detail)


def tool_span(
    sample: Any, t0: float | None = None, t1: float | None = None, turn: int | None = None, detail: str = ""
) -> Span:
    """A tool works for the sample's turn: a context manager, or written at once when both times are told."""
    return default().trajectories.tool_span(sample, t0, t1, turn, detail)


def data_buffer(length: int | None) -> None:
    """How many samples wait in the data buffer."""
    default().data_buffer(length)


def metrics(step_key: str | None, step: int | None, values: Mapping[str, Any]) -> None:
    """One logging call; scalars are kept."""
    default().metrics(step_key, step, values)


def topology(engines: Iterable[Engine | Mapping[str, Any] | Any]) -> None:
    """The engines that serve from now on."""
    default().topology(engines)


def run_args(args: Any, run_name: str | None = None) -> None:
    """The run's arguments for meta.json, without secrets."""
    default().run_args(args, run_name)


def flush(timeout_s: float = 5.0) -> bool:
    """Waits until everything is handed to the system; False if that takes longer."""
    return default().flush(timeout_s)


def close(timeout_s: float | None = None) -> None:
    """Sends what waits and ends."""
    default().close(timeout_s)


def stats() -> Stats:
    """Counts of this process."""
    return default().stats()

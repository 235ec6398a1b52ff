"""The life of samples: attempts, the engine generating a turn, a tool at work.

State belongs to a sample, not to a thread or a task: thousands of samples live on one event loop. It is one number, the
turn that a sample is in, kept under the sample's index from its first turn to the end of its attempt, so a copy of
a sample goes on where the original was. Samples that never end are forgotten at a bound.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

from .values import Record, refused

NO_GROUP: Final = -1
NO_TURN: Final = -1

# Far more than are in flight at once; a forgotten sample's next turn counts from 1 again.
_MAX_SAMPLES: Final = 100_000


class Trajectories:
    """Writes `trajectories`. It has what miles' lifecycle seam calls too, so it can be installed as that sink."""

    def __init__(self, put: Callable[[Record], None] | None, max_samples: int = _MAX_SAMPLES) -> None:
        self._put = put
        self._max_samples = max_samples
        self._turns: dict[int, int] = {}

    def attempt_start(self, sample: Any) -> None:
        """The sample is handed out to be generated."""
        if self._put is None:
            return
        try:
            self._forget(sample)
            self._event("attempt_start", sample)
        except Exception:  # never into the rollout
            pass

    def attempt_end(self, sample: Any) -> None:
        """The sample is done, with its status for detail. A list of samples, one a turn of one attempt, is one attempt."""
        if self._put is None:
            return
        samples = sample if isinstance(sample, (list, tuple)) else [sample]
        try:
            for each in samples:
                self._recorded_turns(each)
            for each in samples:
                self._forget(each)
            if samples:
                self._event("attempt_end", samples[-1], detail=_status(samples[-1]))
        except Exception:  # never into the rollout
            pass

    def gen_start(self, sample: Any) -> None:
        """Generation begins; of a sample whose turns nobody tells, the end of the attempt is its end."""
        try:
            self._event("gen_start", sample)
        except Exception:  # never into the rollout
            pass

    def gen_span(
        self, sample: Any, t0: float | None = None, t1: float | None = None, turn: int | None = None, detail: str = ""
    ) -> Span:
        """One call of the engine: the sample's next turn, unless `turn` says which.

        With both times, Unix seconds, the span is written at once; else it is a context manager.
        """
        return self._span("gen", sample, t0, t1, turn, detail)

    def tool_span(
        self, sample: Any, t0: float | None = None, t1: float | None = None, turn: int | None = None, detail: str = ""
    ) -> Span:
        """A tool at work between the turn that asked for it, which it belongs to, and the next. Else as `gen_span`."""
        return self._span("tool", sample, t0, t1, turn, detail)

    def _span(self, kind: str, sample: Any, t0: float | None, t1: float | None, turn: int | None, detail: str) -> Span:
        span = Span(self, kind, sample, turn, detail)
        if t0 is not None and t1 is not None:
            span._begin(t0)
            span._end(t1)
        elif t0 is not None:
            span._begin(t0)
        return span

    def _turn(self, kind: str, sample: Any, told: int | None) -> int:
        """The turn of a span that begins."""
        index = int(sample.index)
        now = self._turns.get(index, 0)
        if told is not None:
            turn = int(told)
        elif kind == "gen":
            turn = now + 1
        else:
            turn = max(now, 1)
        if turn > now:
            self._turns[index] = turn
            if len(self._turns) > self._max_samples:
                self._turns.pop(next(iter(self._turns)), None)
        return turn

    def _forget(self, sample: Any) -> None:
        if sample.index is not None:
            self._turns.pop(int(sample.index), None)

    def _recorded_turns(self, sample: Any) -> None:
        """Spans that the session server left on the sample, of turns that nobody else has told."""
        metadata = getattr(sample, "metadata", None)
        segments = metadata.get("lifecycle") if isinstance(metadata, dict) else None
        for segment in segments if isinstance(segments, list) else [segments]:
            if not isinstance(segment, dict) or segment.get("t1") is None:
                continue
            turn = int(segment.get("turn") or NO_TURN)
            if 0 < turn <= self._turns.get(int(sample.index), 0):
                continue
            t0, asked = segment.get("t0"), segment.get("req_ts")
            before, until = segment.get("prev_t1"), t0 if asked is None else asked
            if before is not None and until is not None:
                # Between two calls of the engine the agent was at work.
                self._event("tool_start", sample, before, turn, "agent gap")
                self._event("tool_end", sample, until, turn, "agent gap")
            if t0 is not None:
                self._event("gen_start", sample, t0, turn)
            self._event("gen_end", sample, segment["t1"], turn)

    def _refuse(self, kind: str, sample: Any, early_s: float) -> None:
        if self._put is not None and sample.index is not None:
            self._put(refused(f"{kind} of sample {sample.index}: it would be {early_s} s before its begin"))

    def _event(self, kind: str, sample: Any, ts: float | None = None, turn: int = NO_TURN, detail: str = "") -> None:
        put, index = self._put, sample.index
        # An event of a sample without an index belongs to no row of anything.
        if put is None or index is None:
            return
        group = sample.group_index
        put(
            {
                "stream": "trajectories",
                "ts": time.time() if ts is None else float(ts),
                "kind": kind,
                "sample_index": int(index),
                "group_index": NO_GROUP if group is None else int(group),
                "turn": turn,
                "weight_version": _weight_version(sample),
                "detail": detail,
            }
        )


class Span:
    """A generation or a tool call. As a context manager, also around awaits, it begins and ends with the block; an error
    that ends the block is the detail of the span's end."""

    __slots__ = ("_detail", "_events", "_kind", "_pid", "_sample", "_state", "_t0", "_told", "turn")

    def __init__(self, events: Trajectories, kind: str, sample: Any, turn: int | None, detail: str) -> None:
        self._events = events
        self._kind = kind
        self._sample = sample
        self._told = turn
        self._detail = detail
        # 0 not begun, 1 begun, 2 ended
        self._state = 0
        self._pid = 0
        self._t0 = 0.0
        self.turn = NO_TURN
        """The turn, from 1, once it has begun."""

    def close(self, t1: float | None = None, detail: str | None = None) -> None:
        """Ends the span, once, at `t1`, Unix seconds, now by default. An end before the begin is not written but counted as
        invalid."""
        self._end(t1, detail)

    def _begin(self, t0: float | None = None) -> None:
        if self._state != 0 or self._events._put is None:
            return
        self._state = 1
        self._pid = os.getpid()
        try:
            self._t0 = time.time() if t0 is None else float(t0)
            if self._sample.index is not None:
                self.turn = self._events._turn(self._kind, self._sample, self._told)
                self._events._event(self._kind + "_start", self._sample, self._t0, self.turn, str(self._detail))
        except Exception:  # never into the rollout
            pass

    def _end(self, t1: float | None = None, detail: str | None = None) -> None:
        if self._state != 1:
            return
        self._state = 2
        # A child that was forked inside the span, and leaves it by an exception, does not end it.
        if self._pid != os.getpid():
            return
        try:
            told = self._detail if detail is None else detail
            # The clock may have been set back meanwhile.
            end = max(time.time(), self._t0) if t1 is None else float(t1)
            if end < self._t0:
                self._events._refuse(self._kind + "_end", self._sample, self._t0 - end)
            else:
                self._events._event(self._kind + "_end", self._sample, end, self.turn, str(told))
        except Exception:  # never into the rollout
            pass

    def __enter__(self) -> Span:
        self._begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end(None, None if kind is None or self._detail else kind.__name__)

    async def __aenter__(self) -> Span:
        self._begin()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end(None, None if kind is None or self._detail else kind.__name__)


def _weight_version(sample: Any) -> str:
    versions = getattr(sample, "weight_versions", None)
    if versions:
        return str(versions[-1])
    # Newer samples keep spans of tokens, each with its version.
    spans = getattr(sample, "all_weight_version_spans", None)
    return str(spans[-1].version) if spans else ""


def _status(sample: Any) -> str:
    status = getattr(sample, "status", None)
    return "" if status is None else str(getattr(status, "value", status))

"""Phases of this process: what it is doing, seen while it does it.

A phase is two records. The open marker, with `t1` = -1.0, goes out when it begins; the closing one has the same
(node, rank, name, t0) and supersedes it. So both are made of one `Phase`, and an identity that becomes known in between (a rank,
once torch.distributed is there) does not part them. A phase belongs to the process that began it: a child that was forked inside it,
and leaves it by an exception, does not end it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final

from .identity import Identity
from .values import Record, refused

OPEN_T1: Final = -1.0
"""The end of a phase that has none yet."""

# A Timer has a few names running at once. Whoever begins without ever ending is not remembered for ever.
_MAX_OPEN: Final = 256

Put = Callable[[Record], None]
Identify = Callable[[], Identity]


def phase_record(name: str, t0: float, t1: float, who: Identity) -> Record:
    """A line of `phases`."""
    return {
        "stream": "phases",
        "name": name,
        "t0": t0,
        "t1": t1,
        "node": who.node,
        "gpus": list(who.gpus),
        "rank": who.rank,
        "role": who.role,
    }


def _closing(name: str, t0: float, t1: float, who: Identity) -> Record:
    if t1 < t0:
        return refused(f"the end of phase {name!r}: it would be {t0 - t1} s before its begin")
    return phase_record(name, t0, t1, who)


class Phase:
    """One phase: `begin` writes its marker, `close` its record. As a context manager, also around awaits, it does both."""

    __slots__ = ("_begun", "_identify", "_pid", "_put", "_t0", "_who", "name")

    def __init__(self, name: str, put: Put | None, identify: Identify) -> None:
        self.name = name
        self._put = put
        self._identify = identify
        self._who: Identity | None = None
        self._t0 = 0.0
        self._begun = 0.0
        self._pid = 0

    def begin(self, t0: float | None = None) -> Phase:
        """Writes the open marker. `t0` is Unix seconds, now by default."""
        if self._put is None or self._who is not None:
            return self
        try:
            now = time.time()
            self._t0 = now if t0 is None else float(t0)
            # The end is this much later, whatever is done to the clock meanwhile.
            self._begun = time.monotonic() - (now - self._t0)
            self._pid = os.getpid()
            self._who = self._identify()
            self._put(phase_record(str(self.name), self._t0, OPEN_T1, self._who))
        except Exception:  # never into the training loop
            self._put = None
        return self

    def close(self, t1: float | None = None) -> None:
        """Writes the closing record, once. `t1` is Unix seconds, now by default; one before `t0` is not written but counted
        as invalid."""
        put, who = self._put, self._who
        if put is None or who is None:
            return
        self._put = None
        if self._pid != os.getpid():
            return
        try:
            end = self._t0 + max(0.0, time.monotonic() - self._begun) if t1 is None else float(t1)
            put(_closing(str(self.name), self._t0, end, who))
        except Exception:  # never into the training loop
            pass

    def __enter__(self) -> Phase:
        return self.begin()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Phase:
        return self.begin()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class PhaseSink:
    """What miles' Timer calls: `begin(name, t0)` when a timer starts, the object itself with (name, t0, t1) when it ends.

    Older versions of the Timer never call `begin`; the closing record stands for itself then.
    """

    def __init__(self, put: Put | None, identify: Identify) -> None:
        self._put = put
        self._identify = identify
        self._open: dict[tuple[str, float], tuple[int, Identity]] = {}

    def begin(self, name: str, t0: float) -> None:
        """A timer has started at `t0`, Unix seconds."""
        if self._put is None:
            return
        try:
            who = self._identify()
            self._open[name, t0] = os.getpid(), who
            if len(self._open) > _MAX_OPEN:
                self._open.pop(next(iter(self._open)), None)
            self._put(phase_record(str(name), float(t0), OPEN_T1, who))
        except Exception:  # never into the training loop
            pass

    def __call__(self, name: str, t0: float, t1: float) -> None:
        """A timer that started at `t0` has ended at `t1`, Unix seconds."""
        if self._put is None:
            return
        try:
            begun = self._open.pop((name, t0), None)
            if begun is not None and begun[0] != os.getpid():
                return
            who = self._identify() if begun is None else begun[1]
            self._put(_closing(str(name), float(t0), float(t1), who))
        except Exception:  # never into the training loop
            pass

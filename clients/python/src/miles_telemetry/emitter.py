"""The way out of the process: a bounded queue that callers append to, and a daemon thread that encodes and sends.

What `put` promises its caller: no lock is waited for, nothing is sent, nothing is raised. It may be called from any thread, from
a signal handler, from a destructor and from a coroutine. At the bound the oldest record goes, as in the collector, and is
counted. A child made by `fork` starts with an empty queue, and with a thread and a connection of its own when it first
puts a record: what waited in the parent's queue is the parent's to send.
"""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import sys
import threading
import time
import weakref
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from .link import Address, Link
from .values import Record, encode

logger = logging.getLogger("miles_telemetry")

MAX_QUEUED: Final = 100_000
"""Records that wait at most: some 50 MB, and minutes of the busiest rollout."""
LINGER_S: Final = 0.05
"""How long the sending thread lets records gather after the first one. A training loop that shares the interpreter's lock
with it is then disturbed twenty times a second at most."""
BATCH: Final = 64
"""Records that are encoded in one go, some 0.3 ms: then the interpreter's lock is given up for the system call."""
TELL_S: Final = 30.0
"""The least time between two warnings of one kind."""
IDLE_S: Final = 1.0
"""How often an idle sender looks around. Only a safety net: a record wakes it."""
RETRY_S: Final = 0.05
"""At the end of the process, the time between two attempts to connect."""
EXIT_TIMEOUT_S: Final = 2.0
"""How long the end of the process waits for what is queued."""
RETIRE_S: Final = 30.0
"""How long an emitter that was replaced goes on sending what it has; nobody waits for it."""


@dataclass(frozen=True)
class Stats:
    """What became of the records so far, in this process."""

    sent: int
    """Lines, one a record unless it had to be split, that the system took for a connection. What a dying collector had not read is among them."""
    dropped: int
    """Records that made room for newer ones, or were left when the emitter was closed."""
    invalid: int
    """Records that could not be told truly in strict JSON, and values too long that were left out of one."""
    queued: int
    """Records that wait."""
    connects: int
    """Connections made."""
    connected: bool
    """Whether there is a connection now, as far as is known."""


class Emitter:
    """Sends records to one collector."""

    _queue: deque[Record]
    _batch: deque[int]
    _thread: threading.Thread | None
    _idle: bool
    _busy: bool
    _give_up_at: float
    _told: _Told

    def __init__(
        self,
        address: Address,
        *,
        max_queued: int = MAX_QUEUED,
        linger_s: float = LINGER_S,
        exit_timeout_s: float = EXIT_TIMEOUT_S,
    ) -> None:
        self.address = address
        self._max_queued = max(1, max_queued)
        self._linger_s = linger_s
        self._exit_timeout_s = exit_timeout_s
        self._closed = False
        self._heir: Emitter | None = None
        self._start_anew()
        _alive.append(weakref.ref(self, _alive.remove))

    def put(self, record: Record) -> None:
        """Queues a record; it belongs to the emitter from then on."""
        if self._closed:
            heir = self._heir
            while heir is not None and heir._closed:
                heir = heir._heir
            if heir is not None:
                heir.put(record)
            else:
                next(self._drops)
            return
        queue = self._queue
        if len(queue) >= self._max_queued:
            try:
                queue.popleft()
            except IndexError:
                pass
            else:
                # Counting by iterator: `+= 1` from two threads would lose one.
                next(self._drops)
        queue.append(record)
        if self._idle:
            self._idle = False
            self._wake()

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Waits until all that was put is handed to the system; False if that took longer than `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while self._queue or self._busy:
            if time.monotonic() >= deadline or self._closed:
                return not (self._queue or self._busy)
            self._hurry = True
            self._wake()
            time.sleep(0.002)
        return True

    def close(self, timeout_s: float | None = None) -> None:
        """Sends what is queued, for `timeout_s` at most (default: the emitter's exit timeout), and ends the thread."""
        give_up_at = time.monotonic() + (self._exit_timeout_s if timeout_s is None else timeout_s)
        if self._closed and self._thread is None and not self._queue:
            return
        # Closed already when it was replaced: what it still sends is waited for no longer than this.
        self._give_up_at = min(self._give_up_at, give_up_at)
        self._closed = True
        thread = self._thread
        if thread is None or not thread.is_alive():
            if self._queue:
                # No thread could be started, as when the interpreter is ending: it is done here, in the same time.
                self._run()
        elif thread is not threading.current_thread():
            _release(self._alarm)
            # A little more than the deadline: the thread itself looks at it.
            thread.join(max(0.0, self._give_up_at - time.monotonic()) + 0.5)
        if thread is not None and thread.is_alive():
            # Stuck in a system call, looking a host name up perhaps; it is a daemon and ends with the process.
            self._told.warn("end", "%d records were not sent to %s in time", self.stats().queued, self.address.text)

    def retire(self, heir: Emitter | None) -> None:
        """Ends it without waiting: its thread sends what is queued, for a bounded time. What is put from now on, as by a
        phase that was begun before, is the heir's."""
        self._heir = heir
        if self._closed:
            return
        self._give_up_at = time.monotonic() + RETIRE_S
        self._closed = True
        if self._queue or self._thread is not None:
            self._wake()

    @property
    def is_closed(self) -> bool:
        """Whether it takes no records of its own any more."""
        return self._closed

    def stats(self) -> Stats:
        """Counts so far."""
        queued = len(self._queue) + len(self._batch)
        return Stats(self._sent, self._dropped(), self._invalid, queued, self._link.connects, self._link.is_up)

    # ---- starting, also in a child process

    def _start_anew(self) -> None:
        self._queue = deque()
        self._drops = itertools.count()
        self._drop_reads = 0
        self._drops_lock = threading.Lock()
        # Locked while there is nothing to do; whoever has something releases it. An Event would need a lock
        # that a signal handler can find held by the very thread that it interrupts.
        self._alarm = threading.Lock()
        self._alarm.acquire()
        self._starting = threading.Lock()
        self._thread = None
        self._finalizer: Any = None
        # True: the next put has to wake or start the thread.
        self._idle = True
        self._busy = False
        self._hurry = False
        self._give_up_at = float("inf")
        self._link = Link(self.address)
        # Encoded and not yet sent: one length a record.
        self._batch = deque()
        self._chunk = b""
        self._sent = 0
        self._invalid = 0
        self._told = _Told()

    def _after_fork_in_child(self) -> None:
        link = self._link
        self._start_anew()
        link.close()

    def _wake(self) -> None:
        thread = self._thread
        if thread is None or not (thread.is_alive() or self._closed):
            self._start_thread()
        _release(self._alarm)

    def _start_thread(self) -> None:
        # Somebody else starts it, perhaps the very code that this signal handler interrupts: leave it to them.
        if not self._starting.acquire(blocking=False):
            return
        try:
            if self._thread is not None and self._thread.is_alive():
                return
            thread = threading.Thread(target=self._run, name="miles-telemetry", daemon=True)
            self._thread = thread
            thread.start()
            self._finalizer = _at_process_end(self)
        except Exception as error:  # "can't start new thread": the records stay queued, the next put tries again
            self._thread = None
            self._idle = True
            self._told.warn("thread", "cannot start the sending thread: %s; records wait", error)
        finally:
            self._starting.release()

    # ---- the sending thread

    def _run(self) -> None:
        while True:
            try:
                if not self._queue and not self._batch and not self._sleep():
                    break
                self._busy = True
                self._send_all()
                self._tell_drops()
            except Exception:
                # A defect here must not end telemetry, and must not spin.
                self._told.warn("defect", "the sending thread failed and goes on", exc_info=True)
                self._batch.clear()
                time.sleep(1.0)
            if self._closed and (time.monotonic() >= self._give_up_at or not (self._queue or self._batch)):
                break
        self._end()

    def _sleep(self) -> bool:
        """Waits for work; False when there will be none."""
        self._busy = False
        self._hurry = False
        while True:
            # In this order: a put that comes between the two wakes us.
            self._idle = True
            if self._queue:
                break
            if self._closed:
                return False
            self._alarm.acquire(timeout=IDLE_S)
            self._tell_drops()
        self._busy = True
        self._idle = False
        self._pause(self._linger_s)
        return True

    def _pause(self, seconds: float) -> None:
        """Waits, but not when somebody is in a hurry."""
        until = time.monotonic() + seconds
        while not self._hurry and not self._closed:
            left = until - time.monotonic()
            if left <= 0.0:
                return
            self._alarm.acquire(timeout=left)

    def _send_all(self) -> None:
        """Sends what is queued, or waits a little for the collector to come back."""
        while self._queue or self._batch:
            if self._must_give_up():
                return
            if not self._connect():
                self._tell_trouble()
                if not self._closed:
                    self._hurry = False
                    self._pause(min(self._link.wait_s(), IDLE_S))
                elif self._link.connects > 0:
                    # It restarts perhaps, and is back in a moment.
                    time.sleep(RETRY_S)
                else:
                    # It never was there, and will not come for us.
                    self._give_up_at = 0.0
                self._tell_drops()
                continue
            self._told.recovered(self.address.text)
            if not self._batch:
                self._encode_batch()
            self._send_batch()

    def _connect(self) -> bool:
        left_s = max(RETRY_S, self._give_up_at - time.monotonic())
        if self._link.ensure(left_s):
            return True
        if not self._closed:
            return False
        # At the end of the process nobody waits for a backoff.
        self._link.retry_now()
        return self._link.ensure(left_s)

    def _must_give_up(self) -> bool:
        return self._closed and time.monotonic() >= self._give_up_at

    def _encode_batch(self) -> None:
        lines: list[bytes] = []
        while len(lines) < BATCH:
            try:
                record = self._queue.popleft()
            except IndexError:
                break
            try:
                made, complaints = encode(record)
            except Exception:  # a defect; the other records are none the worse for it
                made, complaints = [], [f"left out a record of {record.get('stream')} that cannot be encoded"]
            lines += made
            for complaint in complaints:
                self._invalid += 1
                self._told.warn("invalid", "%s", complaint)
        self._chunk = b"".join(lines)
        self._batch.extend(map(len, lines))

    def _send_batch(self) -> None:
        """Sends the batch. What a broken connection took whole is sent, what it took in part is sent again."""
        if not self._batch:
            return
        taken, _ = self._link.send(memoryview(self._chunk), self._must_give_up)
        done = 0
        # A line without its newline is counted as sent: the collector may well take it for whole at the end.
        while self._batch and done + self._batch[0] - 1 <= taken:
            done += self._batch.popleft()
            self._sent += 1
        self._chunk = self._chunk[done:]

    def _end(self) -> None:
        lost = len(self._queue) + len(self._batch)
        if lost:
            for _ in range(lost):
                next(self._drops)
            self._queue.clear()
            self._batch.clear()
            self._told.warn("end", "%d records were not sent to %s before the end", lost, self.address.text)
        self._link.close()
        self._busy = False
        if self._finalizer is not None:
            self._finalizer.cancel()

    # ---- telling

    def _dropped(self) -> int:
        # The iterator counts; reading it takes one number, which is taken off again.
        with self._drops_lock:
            dropped = next(self._drops) - self._drop_reads
            self._drop_reads += 1
        return dropped

    def _tell_drops(self) -> None:
        if not self._told.is_due("drops"):
            return
        dropped = self._dropped()
        new = dropped - self._told.drops
        if new > 0:
            self._told.drops = dropped
            cause = self._link.why or "it is slower than the records come"
            self._told.warn("drops", "dropped %d records, %d so far: %s: %s", new, dropped, self.address.text, cause)

    def _tell_trouble(self) -> None:
        self._told.down = True
        self._told.warn("down", "no connection to the collector at %s: %s; records wait", self.address.text, self._link.why)


class _Told:
    """What was said, and when, so that nothing is said too often."""

    def __init__(self) -> None:
        self.drops = 0
        self.down = False
        self._last: dict[str, float] = {}

    def is_due(self, what: str) -> bool:
        last = self._last.get(what)
        return last is None or time.monotonic() - last >= TELL_S

    def warn(self, what: str, message: str, *args: object, exc_info: bool = False) -> None:
        if self.is_due(what):
            self._last[what] = time.monotonic()
            try:
                logger.warning(message, *args, exc_info=exc_info)
            except Exception:  # a handler of the application's; it is not ours to mend
                pass

    def recovered(self, address: str) -> None:
        if self.down:
            self.down = False
            if self.is_due("up"):
                self._last["up"] = time.monotonic()
                logger.info("connected to the collector at %s", address)


def _release(alarm: threading.Lock) -> None:
    try:
        alarm.release()
    except RuntimeError:  # rung already
        pass


# ---- forks and the end of the process

_alive: list[weakref.ref[Emitter]] = []


def _emitters() -> list[Emitter]:
    return [emitter for ref in list(_alive) if (emitter := ref()) is not None]


def _after_fork_in_child() -> None:
    for emitter in _emitters():
        try:
            emitter._after_fork_in_child()
        except Exception:
            pass


def _close_all() -> None:
    for emitter in _emitters():
        try:
            emitter.close()
        except Exception:
            pass


def _at_process_end(emitter: Emitter) -> Any:
    """A child of multiprocessing ends by `os._exit`, which runs its finalizers and nothing of atexit. None without it."""
    util = sys.modules.get("multiprocessing.util")
    return None if util is None else util.Finalize(None, emitter.close, exitpriority=-100)


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)

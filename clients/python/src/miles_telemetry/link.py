"""One connection to a collector: its address, how it is made again when it breaks, and what of a chunk got through.

Only the sending thread uses a link, so nothing here is locked. Nothing waits longer than a bound that is named here.
"""

from __future__ import annotations

import codecs
import random
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

# A collector in another rack answers in milliseconds; a host that is gone answers never.
CONNECT_TIMEOUT_S: Final = 5.0
# How often a blocked send looks whether it should give up.
POLL_S: Final = 0.2
# A collector that reads nothing for this long is taken for gone: TCP itself would take a quarter of an hour.
STALL_S: Final = 60.0
BACKOFF_FIRST_S: Final = 0.1
# A collector that comes back is found within this.
BACKOFF_LAST_S: Final = 5.0
# A connection that lasts less is no sign that all is well: something accepts and hangs up.
SETTLED_S: Final = 1.0


# For whoever looks a name up by text, as `identity` does: an import that another thread has begun when the process is forked
# is never finished in the child, and Python remembers there that there is no such codec.
codecs.lookup("idna")


class AddressError(ValueError):
    """The address of the collector cannot be used."""


@dataclass(frozen=True)
class Address:
    """`tcp://HOST:PORT` or `unix:PATH`."""

    text: str
    host: str = ""
    port: int = 0
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> Address:
        """Reads an address; raises `AddressError` with what would be right."""
        text = text.strip()
        scheme = text.partition(":")[0].lower()
        if scheme == "unix" and len(text) > len("unix"):
            path = text[len("unix:") :]
            if path.startswith("//"):
                path = path[2:]
            if not path or "\0" in path:
                raise AddressError(f"{text!r} names no socket; write unix:/path/to/socket")
            return cls(text, path=path)
        if scheme == "tcp" and text[len("tcp") :].startswith("://"):
            try:
                parts = urlsplit(text)
                host, port = parts.hostname, parts.port
                if host and not host.isascii():
                    host = host.encode("idna").decode("ascii")
            except ValueError as error:  # a host name that is none among them
                raise AddressError(f"{text!r}: {error}; write tcp://host:port") from None
            if host and port and parts.path in ("", "/"):
                return cls(text, host=host, port=port)
        raise AddressError(f"{text!r} is no address; write tcp://host:port or unix:/path/to/socket")

    @property
    def target(self) -> tuple[str, int, str]:
        """What it leads to, however it was written."""
        return self.host, self.port, self.path

    def connect(self, timeout_s: float) -> socket.socket:
        """A connected socket, or OSError."""
        if self.path:
            unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                unix.settimeout(timeout_s)
                unix.connect(self.path)
            except BaseException:
                unix.close()
                raise
            return unix
        # Bytes need no codec, which a child forked in the middle of its import would never have.
        host: Any = self.host.encode("ascii")
        tcp = socket.create_connection((host, self.port), timeout=timeout_s)
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return tcp


class Link:
    """The connection, made when it is needed."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.connects = 0
        self.why: str | None = None
        """Why there is no connection, for people."""
        self._socket: socket.socket | None = None
        self._next_try = 0.0
        self._backoff_s = BACKOFF_FIRST_S
        self._connected_at = 0.0

    @property
    def is_up(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._socket is not None

    def wait_s(self) -> float:
        """How long until it may try to connect again."""
        return max(0.0, self._next_try - time.monotonic())

    def ensure(self, timeout_s: float = CONNECT_TIMEOUT_S) -> bool:
        """Whether there is a connection now; tries to make one unless the last failure was a moment ago."""
        if self._socket is not None and not self._peer_left():
            return True
        if self.wait_s() > 0.0:
            return False
        try:
            self._socket = self.address.connect(min(timeout_s, CONNECT_TIMEOUT_S))
        except OSError as error:
            self._failed(error)
            return False
        self._socket.setblocking(False)
        self._connected_at = time.monotonic()
        self.connects += 1
        self.why = None
        return True

    def send(self, chunk: memoryview, give_up: Callable[[], bool]) -> tuple[int, bool]:
        """Hands bytes to the system: how many it took, and whether the connection is still good.

        Fewer than all on a good connection means that `give_up`, asked now and then, said so.
        """
        sent = 0
        moved = time.monotonic()
        while sent < len(chunk):
            if self._socket is None:
                return sent, False
            try:
                sent += self._socket.send(chunk[sent:])
                moved = time.monotonic()
                if moved - self._connected_at > SETTLED_S:
                    self._backoff_s = BACKOFF_FIRST_S
            except BlockingIOError:
                if give_up():
                    return sent, True
                if time.monotonic() - moved < STALL_S:
                    self._wait_writable(self._socket)
                else:
                    self._failed(TimeoutError(f"it has read nothing for {STALL_S:.0f} s"))
                    return sent, False
            except OSError as error:
                self._failed(error)
                return sent, False
        return sent, True

    def retry_now(self) -> None:
        """Forgets that it failed a moment ago."""
        self._next_try = 0.0

    def close(self) -> None:
        """Ends the connection; what the system took is still delivered."""
        if self._socket is not None:
            # Closing in a child process that was forked must not end the parent's connection: no shutdown().
            self._socket.close()
            self._socket = None

    @staticmethod
    def _wait_writable(connection: socket.socket) -> None:
        # Not select.select: it knows no descriptors above 1023, and a training process has many.
        poll = select.poll()
        poll.register(connection, select.POLLOUT)
        poll.poll(POLL_S * 1000)

    def _peer_left(self) -> bool:
        # A collector never talks, so readable means that it ended. Looking first saves the bytes that would
        # be written into a connection that is closed already.
        assert self._socket is not None
        try:
            left = self._socket.recv(1, socket.MSG_PEEK) == b""
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            self._failed(error)
            return True
        if left:
            self._failed(ConnectionResetError("it closed the connection"))
        return left

    def _failed(self, error: Exception) -> None:
        if self._socket is not None:
            # It worked until now: a restart takes a moment, so the first attempt comes at once.
            self.close()
            self._next_try = 0.0 if self._backoff_s == BACKOFF_FIRST_S else time.monotonic() + self._backoff_s
        else:
            self._next_try = time.monotonic() + self._backoff_s * random.uniform(0.5, 1.0)
        # Doubled with each failure in a row; a connection that works for a while sets it back.
        self._backoff_s = min(self._backoff_s * 2, BACKOFF_LAST_S)
        self.why = str(error) or type(error).__name__

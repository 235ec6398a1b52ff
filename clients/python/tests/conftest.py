"""Shared by the client's tests: a small collector that keeps lines, samples, and the real tools where they are built."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import miles_telemetry
from miles_telemetry import Telemetry

# Where the client that is tested lies: the sources, or an installed package.
SOURCES = Path(miles_telemetry.__file__).resolve().parents[1]
# Nothing here takes a second; whoever needs this long hangs.
PATIENCE_S = 30.0

KEYS = {
    "metrics": ["stream", "ts", "step_key", "step", "metrics"],
    "phases": ["stream", "name", "t0", "t1", "node", "gpus", "rank", "role"],
    "topology": ["stream", "ts", "engines"],
    "trajectories": ["stream", "ts", "kind", "sample_index", "group_index", "turn", "weight_version", "detail"],
    "data_buffer": ["stream", "ts", "length"],
    "meta": ["stream", "run_name", "args"],
}


def strict(line: bytes | str) -> dict[str, Any]:
    """A line as strict JSON with the keys of its stream; Python's reader takes NaN and surrogates, which others do not."""

    def refuse(text: str) -> None:
        raise ValueError(f"not strict JSON: {text}")

    text = line if isinstance(line, str) else line.decode("utf-8")
    record: dict[str, Any] = json.loads(text, parse_constant=refuse)
    json.dumps(record, ensure_ascii=False).encode("utf-8")
    keys = [key for key in record if key != "start_ts"]
    assert keys == KEYS[record["stream"]], record
    return record


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"still not: {what}"
        time.sleep(0.005)


class Collector:
    """Keeps the lines that it is sent. It can be stopped and started at the same place, and stop reading."""

    def __init__(self, unix: Path | None = None) -> None:
        self.lines: list[bytes] = []
        self.torn: list[bytes] = []
        self.connections = 0
        self.reads = threading.Event()
        self.reads.set()
        self._unix = unix
        self._port = 0
        self._listener: socket.socket | None = None
        self._open: list[socket.socket] = []
        self.start()

    @property
    def address(self) -> str:
        return f"unix:{self._unix}" if self._unix else f"tcp://127.0.0.1:{self._port}"

    def start(self) -> None:
        if self._unix:
            self._unix.unlink(missing_ok=True)
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(self._unix))
            self._listener.listen()
        else:
            self._listener = socket.create_server(("127.0.0.1", self._port))
            self._port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def stop(self) -> None:
        if self._listener is not None:
            # close() alone leaves the listener alive in the accept() of the other thread.
            try:
                self._listener.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self._listener.close()
            self._listener = None
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()
        self._open.clear()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._read, args=[connection], daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        rest = b""
        while True:
            self.reads.wait()
            try:
                piece = connection.recv(1 << 16)
            except OSError:
                piece = b""
            if not piece:
                break
            *lines, rest = (rest + piece).split(b"\n")
            self.lines += lines
        if rest:
            self.torn.append(rest)

    def records(self, stream: str | None = None) -> list[dict[str, Any]]:
        """All lines so far, checked; each has exactly the keys of its stream, in order."""
        records = [strict(line) for line in list(self.lines)]
        return [record for record in records if stream is None or record["stream"] == stream]

    def wait_for(self, count: int, stream: str | None = None) -> list[dict[str, Any]]:
        wait_until(lambda: len(self.lines) >= count and len(self.records(stream)) >= count, f"{count} records")
        return self.records(stream)


@dataclass
class Sample:
    """As much of miles' Sample as the client looks at. Equal ones are equal, so it has no hash."""

    index: int | None = 0
    group_index: int | None = 0
    weight_versions: list[str] = field(default_factory=list)
    status: Any = "pending"
    metadata: dict[str, Any] | None = field(default_factory=dict)


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.reads.set()
    made.stop()


@pytest.fixture
def telemetry(collector: Collector) -> Iterator[Telemetry]:
    made = Telemetry(collector.address, node="10.0.0.1", gpus=[0], rank=0)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def clean_surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test sees the address, the ranks or the default client of another."""
    for name in ("MILES_COLLECT", "MILES_NODE", "RANK", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(miles_telemetry, "_default", None)
    yield
    if miles_telemetry._default is not None:
        miles_telemetry._default.close()


def python(code: str, address: str, *, timeout_s: float = PATIENCE_S, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a script in an interpreter of its own, with the client importable and MILES_COLLECT set."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "MILES_COLLECT": address, "MILES_NODE": "10.0.0.1", **env}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
    )

"""What a record costs the thread that tells it. Printed (pytest -s), never asserted: a busy machine is slow, not wrong.

The collector is another process, as in life. `burst` tells records as fast as it can, so that half of what it shows is waiting
for the interpreter's lock that the sending thread wants too; `paced` tells one a millisecond, more than a rollout does.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from conftest import PATIENCE_S, Sample

from miles_telemetry import Telemetry

SINK = """
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    while connection.recv(1 << 20): pass
"""


@pytest.fixture(params=["on", "off"])
def client(request: pytest.FixtureRequest) -> Iterator[Telemetry]:
    if request.param == "off":
        yield Telemetry("")
        return
    sink = subprocess.Popen([sys.executable, "-c", SINK], stdout=subprocess.PIPE, text=True)
    assert sink.stdout is not None
    made = Telemetry(f"tcp://127.0.0.1:{int(sink.stdout.readline())}", node="10.0.0.1", gpus=[0], rank=0)
    yield made
    made.close()
    sink.kill()
    sink.wait()


def test_what_a_record_costs_its_caller(client: Telemetry) -> None:
    sample = Sample(index=7, group_index=1, weight_versions=["3"])
    values = {f"train/metric_{i}": i / 7 for i in range(50)}

    def phase() -> None:
        with client.phase("actor_train"):
            pass

    def span() -> None:
        with client.gen_span(sample):
            pass

    calls: list[tuple[str, int, Callable[[], None]]] = [
        ("phase", 2, phase),
        ("gen_span", 2, span),
        ("attempt_start", 1, lambda: client.attempt_start(sample)),
        ("data_buffer", 1, lambda: client.data_buffer(3)),
        ("metrics of 50 numbers", 1, lambda: client.metrics("train/step", 1, values)),
    ]
    print(f"\nmicroseconds a record, telemetry {'on' if client.enabled else 'off'}")
    for name, records, call in calls:
        call()
        rounds = []
        for _ in range(5):
            began = time.perf_counter()
            for _ in range(2_000):
                call()
            rounds.append((time.perf_counter() - began) / 2_000 / records * 1e6)
            client.flush(PATIENCE_S)
        paced = []
        for _ in range(500):
            began = time.perf_counter()
            call()
            paced.append((time.perf_counter() - began) / records * 1e6)
            time.sleep(0.001)
        ranked = sorted(paced)
        print(
            f"  {name:22} burst {statistics.median(rounds):6.2f}   paced, median {ranked[250]:6.2f}, 99th {ranked[494]:7.2f}"
        )
    assert client.stats().dropped == 0

"""Configuring again: the former connection is shared or ended, and loses nothing."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from conftest import PATIENCE_S, Collector, python, wait_until

import miles_telemetry as t


def senders() -> int:
    return sum(thread.name == "miles-telemetry" for thread in threading.enumerate())


def test_configuring_again_for_the_same_collector_keeps_one_thread_and_one_connection(collector: Collector) -> None:
    wait_until(lambda: senders() == 0, "the threads of other tests have ended")
    for n in range(20):
        t.configure(collector.address, rank=n, gpus=[0], node="n")
        t.data_buffer(n)
    assert t.flush(PATIENCE_S)
    collector.wait_for(20)
    assert (senders(), collector.connections) == (1, 1)
    assert [r["length"] for r in collector.records()] == list(range(20))


def test_configuring_another_collector_ends_the_former_connection_and_loses_nothing(
    collector: Collector, tmp_path: Path
) -> None:
    wait_until(lambda: senders() == 0, "the threads of other tests have ended")
    other = Collector(unix=tmp_path / "c.sock")
    t.configure(collector.address, rank=0, gpus=[0], node="n")
    phase = t.begin("open")
    sink = t.phase_sink()
    for n in range(10):
        for to in (other, collector):
            t.configure(to.address, rank=0, gpus=[0], node="n")
            t.data_buffer(n)
    phase.close()
    sink("timer", 1.0, 2.0)
    assert t.flush(PATIENCE_S)
    collector.wait_for(13)
    other.wait_for(10)
    wait_until(lambda: senders() == 1, "the former threads end")
    assert [r["t1"] > 0 for r in collector.records("phases")] == [False, True, True]
    assert sorted(r["length"] for r in other.records()) == list(range(10))
    began = time.monotonic()
    t.configure("")
    wait_until(lambda: senders() == 0, "the last thread ends")
    assert not t.default().enabled and time.monotonic() - began < PATIENCE_S
    other.stop()


def test_what_a_replaced_connection_still_has_is_sent_at_the_end_of_the_program(collector: Collector) -> None:
    code = "import miles_telemetry as t\nfor i in range(5000): t.data_buffer(i)\nt.configure('')"
    done = python(code, collector.address)
    assert (done.returncode, done.stderr) == (0, "")
    collector.wait_for(5_000)

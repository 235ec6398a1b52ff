"""Forked and spawned processes, and the end of an interpreter."""

from __future__ import annotations

import multiprocessing
import os
import time
from typing import Any

import pytest
from conftest import PATIENCE_S, Collector, python, wait_until

from miles_telemetry import Telemetry


def lengths(collector: Collector) -> list[int]:
    return sorted(record["length"] for record in collector.records("data_buffer"))


def put(telemetry: Telemetry, first: int, count: int) -> None:
    for i in range(first, first + count):
        telemetry.data_buffer(i)


def in_child(address: str, telemetry: Any) -> None:
    telemetry = telemetry or Telemetry(address)
    put(telemetry, 100, 50)
    # No flush: the end of the process does it.


# Python 3.12 says that forking a process with threads is risky; that it is survived is what is tested.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_sends_its_own_records_and_only_those(collector: Collector) -> None:
    telemetry = Telemetry(collector.address)
    collector.reads.clear()
    put(telemetry, 0, 50)
    assert telemetry.flush(PATIENCE_S)
    put(telemetry, 50, 50)  # these wait in the parent's queue
    child = os.fork()
    if child == 0:
        status = 1
        try:
            stats = telemetry.stats()
            put(telemetry, 100, 50)
            status = 0 if (stats.sent, stats.queued, stats.dropped) == (0, 0, 0) and telemetry.flush(10.0) else 2
        finally:
            os._exit(status)
    collector.reads.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    put(telemetry, 150, 50)
    assert telemetry.flush(PATIENCE_S)
    collector.wait_for(200)
    time.sleep(0.1)
    assert lengths(collector) == list(range(200))
    assert collector.connections == 2 and not collector.torn
    telemetry.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forking_under_load_neither_hangs_nor_doubles(collector: Collector) -> None:
    """The fork falls into every state of the sending thread."""
    telemetry = Telemetry(collector.address)
    children = []
    for n in range(30):
        put(telemetry, n * 1000, 200)
        if n % 3 == 0:
            time.sleep(0.01)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                put(telemetry, n * 1000 + 200, 20)
                status = 0 if telemetry.flush(20.0) else 2
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 30
    assert telemetry.flush(PATIENCE_S)
    collector.wait_for(30 * 220)
    assert lengths(collector) == sorted(n * 1000 + i for n in range(30) for i in range(220))
    telemetry.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_child_of_multiprocessing_flushes_at_its_end(method: str, collector: Collector) -> None:
    context: Any = multiprocessing.get_context(method)
    telemetry = Telemetry(collector.address)
    put(telemetry, 0, 100)
    child = context.Process(target=in_child, args=(collector.address, telemetry if method == "fork" else None))
    child.start()
    child.join(PATIENCE_S)
    assert child.exitcode == 0
    assert telemetry.flush(PATIENCE_S)
    collector.wait_for(150)
    assert lengths(collector) == list(range(150))
    telemetry.close()


def test_the_end_of_the_interpreter_sends_what_waits(collector: Collector) -> None:
    done = python("import miles_telemetry as t\nfor i in range(5000): t.data_buffer(i)", collector.address)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    collector.wait_for(5_000)
    assert lengths(collector) == list(range(5_000))


def test_an_exception_that_ends_the_program_does_not_end_telemetry(collector: Collector) -> None:
    done = python("import miles_telemetry as t\nwith t.phase('rollout'): raise SystemExit(3)", collector.address)
    assert (done.returncode, done.stderr) == (3, "")
    assert [r["t1"] > 0 for r in collector.wait_for(2)] == [False, True]


def test_records_put_while_the_interpreter_ends_raise_nothing(collector: Collector) -> None:
    code = """
import atexit
atexit.register(lambda: t.data_buffer(2))  # runs after the client's own
import miles_telemetry as t
atexit.register(lambda: t.data_buffer(1))  # runs before it
class Last:
    def __del__(self): t.data_buffer(3)
last = Last()
t.data_buffer(0)
"""
    done = python(code, collector.address)
    assert (done.returncode, done.stderr) == (0, "")
    wait_until(lambda: lengths(collector) == [0, 1], "the records that were in time")


def test_a_first_record_at_the_very_end_is_sent(collector: Collector) -> None:
    """Python 3.12 starts no thread any more at that point."""
    code = "import atexit, miles_telemetry as t\natexit.register(lambda: t.data_buffer(1))"
    done = python(code, collector.address)
    assert done.returncode == 0 and "Traceback" not in done.stderr
    wait_until(lambda: lengths(collector) == [1], "the record")


@pytest.mark.parametrize("kind", ["refused", "deaf", "silent"])
def test_the_end_of_the_interpreter_waits_a_bounded_time(kind: str) -> None:
    collector = Collector()
    if kind == "refused":
        collector.stop()
    if kind == "silent":
        collector.reads.clear()
    address = "tcp://192.0.2.1:9" if kind == "deaf" else collector.address
    code = "import miles_telemetry as t, time\nfor i in range(200_000): t.data_buffer(i)\nprint(time.time())"
    done = python(code, address)
    waited = time.time() - float(done.stdout)
    print(f"{kind}: the process ended {waited:.2f} s after its last line")
    assert done.returncode == 0
    assert "were not sent" in done.stderr and address in done.stderr
    assert waited < 15  # two seconds on a machine that has nothing else to do
    collector.reads.set()
    collector.stop()


FORKS_AT_ONCE = """
import os, sys, time
import miles_telemetry as t

class Slow:  # an import takes this long on a cold shared file system
    def find_spec(self, name, path=None, target=None):
        time.sleep(0.5)

sys.meta_path.insert(0, Slow())
t.data_buffer(0)
children = []
for n in range(1, 21):
    time.sleep(0.01)
    child = os.fork()
    if child == 0:
        t.data_buffer(n)
        os._exit(0 if t.flush(10.0) else 2)
    children.append(child)
failed = [n for n, child in enumerate(children) if os.waitpid(child, 0)[1] != 0]
print(failed, t.flush(10.0))
"""


def test_children_forked_right_after_the_first_record_connect(collector: Collector) -> None:
    """The parent's sending thread may be at its very first connect then, in the middle of an import that it needs for it."""
    done = python(FORKS_AT_ONCE, collector.address, PYTHONWARNINGS="ignore")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[] True\n", "")
    collector.wait_for(21)
    assert lengths(collector) == list(range(21))


def test_the_sending_thread_imports_nothing(collector: Collector) -> None:
    """A fork in the middle of an import leaves the child with half a module, or with a codec that is unknown for good."""
    code = """
import sys
import miles_telemetry as t
before = set(sys.modules)
t.metrics("a", 1, {"x": 1.5, "text": "half \\ud800"})
t.data_buffer(1)
t.flush()
print(sorted(set(sys.modules) - before))
"""
    done = python(code, collector.address.replace("127.0.0.1", "localhost"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


OPEN_ACROSS_A_FORK = """
import os, sys, types
import miles_telemetry as t
sample = types.SimpleNamespace(index=7, group_index=0, weight_versions=[], status="pending", metadata={})
handle = t.begin("handle")
sink = t.phase_sink()
sink.begin("timer", 5.0)
child = 1
try:
    with t.phase("rollout"), t.gen_span(sample), t.tool_span(sample):
        child = os.fork()
        if child == 0:
            handle.close()
            sink("timer", 5.0, 6.0)
            with t.phase("of the child"):
                pass
            END
        assert os.waitpid(child, 0)[0] == child
    handle.close()
    sink("timer", 5.0, 6.0)
finally:
    t.flush()
    if child == 0:
        os._exit(0)
"""


@pytest.mark.parametrize("end", ["sys.exit(1)", "raise RuntimeError", "raise KeyboardInterrupt"])
def test_what_is_open_across_a_fork_is_closed_by_whoever_began_it(end: str, collector: Collector) -> None:
    done = python(OPEN_ACROSS_A_FORK.replace("END", end), collector.address, PYTHONWARNINGS="ignore")
    assert (done.returncode, done.stderr) == (0, "")
    collector.wait_for(12)
    time.sleep(0.1)
    phases = [record["name"] for record in collector.records("phases")]
    assert sorted(phases) == sorted(2 * ["handle", "timer", "rollout", "of the child"])
    spans = [record["kind"] for record in collector.records("trajectories")]
    assert sorted(spans) == ["gen_end", "gen_start", "tool_end", "tool_start"]

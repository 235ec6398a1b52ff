"""What the emitter promises: it never holds up or fails its caller, whatever becomes of the collector, and it counts."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE_S, Collector, Sample, wait_until

from miles_telemetry import Telemetry
from miles_telemetry.emitter import Emitter
from miles_telemetry.link import Address, Link


def numbered(emitter: Emitter, first: int, count: int) -> None:
    for i in range(first, first + count):
        emitter.put({"stream": "data_buffer", "ts": 1.0, "length": i})


def lengths(collector: Collector) -> list[int]:
    return [record["length"] for record in collector.records("data_buffer")]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def test_records_arrive_in_order_and_are_counted(collector: Collector) -> None:
    emitter = Emitter(Address.parse(collector.address))
    numbered(emitter, 0, 10_000)
    assert emitter.flush(PATIENCE_S)
    collector.wait_for(10_000)
    assert lengths(collector) == list(range(10_000))
    stats = emitter.stats()
    assert (stats.sent, stats.dropped, stats.invalid, stats.queued, stats.connects) == (10_000, 0, 0, 0, 1)
    emitter.close()


def test_a_unix_socket_does_as_well(tmp_path: Path) -> None:
    collector = Collector(unix=tmp_path / "collect.sock")
    emitter = Emitter(Address.parse(collector.address))
    numbered(emitter, 0, 100)
    collector.wait_for(100)
    emitter.close()
    collector.stop()


def test_records_wait_for_a_collector_that_starts_late(caplog: pytest.LogCaptureFixture) -> None:
    collector = Collector()
    collector.stop()
    emitter = Emitter(Address.parse(collector.address))
    with caplog.at_level(logging.INFO, "miles_telemetry"):
        numbered(emitter, 0, 100)
        wait_until(lambda: emitter._link.why is not None, "a first attempt")
        collector.start()
        collector.wait_for(100)
        wait_until(lambda: len(caplog.records) >= 2, "both were told")
    assert lengths(collector) == list(range(100))
    assert [r.levelname for r in caplog.records] == ["WARNING", "INFO"]
    assert collector.address in caplog.records[0].getMessage()
    emitter.close()
    collector.stop()


def test_a_restart_of_the_collector_loses_nothing_of_an_idle_process(collector: Collector) -> None:
    emitter = Emitter(Address.parse(collector.address))
    for round_ in range(5):
        numbered(emitter, round_ * 10, 10)
        collector.wait_for((round_ + 1) * 10)
        collector.stop()
        collector.start()
    assert lengths(collector) == list(range(50))
    assert emitter.stats().connects == 5
    emitter.close()


def test_a_restart_in_the_middle_of_the_stream_doubles_nothing(collector: Collector) -> None:
    emitter = Emitter(Address.parse(collector.address))
    stop = threading.Event()

    def produce() -> None:
        for i in range(1_000_000):
            numbered(emitter, i, 1)
            if stop.wait(0.0002):
                return

    producer = threading.Thread(target=produce)
    producer.start()
    for round_ in range(5):
        seen = len(collector.lines)
        wait_until(lambda seen=seen: len(collector.lines) > seen + 50, "records flow")  # type: ignore[misc]
        collector.stop()
        collector.start()
    stop.set()
    producer.join()
    assert emitter.flush(PATIENCE_S)
    emitter.close()
    last = emitter.stats().sent - 1
    wait_until(lambda: lengths(collector)[-1] == last, "the last one")
    got = lengths(collector)
    # What the dying collector had not read is gone, and nothing else: in order, each once.
    assert got == sorted(set(got))
    assert len(got) > 250


def test_what_a_broken_connection_took_in_part_is_sent_again_whole() -> None:
    """The system takes the first bytes of a batch and the connection breaks: no record is doubled or torn for the next."""

    class Breaking(Link):
        pieces: list[bytes] = []
        takes = [0, 1, 30, 49, 50, 51, 120, 10_000]

        def ensure(self, timeout_s: float = 5.0) -> bool:
            return True

        def send(self, chunk: memoryview, give_up: Any) -> tuple[int, bool]:
            taken = min(len(chunk), self.takes.pop(0) if self.takes else len(chunk))
            self.pieces.append(bytes(chunk[:taken]))
            return taken, taken == len(chunk)

    emitter = Emitter(Address("x"))
    emitter._link = Breaking(emitter.address)
    numbered(emitter, 10, 90)
    assert emitter.flush(PATIENCE_S)
    whole = [line for piece in Breaking.pieces for line in piece.split(b"\n") if line.endswith(b"}")]
    assert [int(line.rsplit(b":", 1)[1][:-1]) for line in whole] == list(range(10, 100))
    assert emitter.stats().sent == 90
    emitter.close()


def test_a_dead_collector_costs_the_oldest_records_and_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    collector = Collector()
    collector.stop()
    emitter = Emitter(Address.parse(collector.address), max_queued=100)
    numbered(emitter, 0, 1_000)
    wait_until(lambda: emitter.stats().dropped == 900, "900 dropped")
    wait_until(lambda: any("dropped" in r.getMessage() for r in caplog.records), "told")
    time.sleep(0.3)
    assert len([r for r in caplog.records if "dropped" in r.getMessage()]) == 1
    collector.start()
    collector.wait_for(100)
    assert lengths(collector) == list(range(900, 1_000))
    emitter.close()
    collector.stop()


def test_a_collector_that_does_not_read_holds_nobody_up(collector: Collector) -> None:
    collector.reads.clear()
    emitter = Emitter(Address.parse(collector.address), max_queued=1_000)
    slowest = 0.0
    for i in range(100_000):
        began = time.perf_counter()
        numbered(emitter, i, 1)
        slowest = max(slowest, time.perf_counter() - began)
    stats = emitter.stats()
    print(f"slowest of 100,000 puts {slowest * 1e3:.3f} ms, {stats}")
    assert stats.dropped > 0 and stats.queued <= 1_100
    collector.reads.set()
    assert emitter.flush(PATIENCE_S)
    stats = emitter.stats()
    assert stats.sent + stats.dropped == 100_000
    collector.wait_for(stats.sent)
    got = lengths(collector)
    assert got == sorted(set(got)) and got[-1] == 99_999 and len(got) == stats.sent
    emitter.close()


def test_a_collector_that_hangs_up_at_once_is_not_called_in_a_loop() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    calls = []

    def hang_up() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            calls.append(1)
            connection.close()

    threading.Thread(target=hang_up, daemon=True).start()
    emitter = Emitter(Address("x", host="127.0.0.1", port=listener.getsockname()[1]))
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        numbered(emitter, 0, 10)
        time.sleep(0.01)
    # 0.1, 0.2, 0.4, 0.8 s and so on, not once a record.
    assert 1 <= len(calls) < 20
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    emitter.close(0.0)


def test_threads_lose_and_double_nothing(collector: Collector) -> None:
    emitter = Emitter(Address.parse(collector.address))
    threads = [threading.Thread(target=numbered, args=[emitter, n * 10_000, 5_000]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert emitter.flush(PATIENCE_S)
    collector.wait_for(40_000)
    got = lengths(collector)
    assert sorted(got) == sorted(n * 10_000 + i for n in range(8) for i in range(5_000))
    # Each thread's own in order.
    for n in range(8):
        own = [g for g in got if g // 10_000 == n]
        assert own == sorted(own)
    emitter.close()


def test_drops_of_many_threads_are_counted_exactly() -> None:
    emitter = Emitter(Address("x", host="127.0.0.1", port=free_port()), max_queued=10)
    threads = [threading.Thread(target=numbered, args=[emitter, 0, 5_000]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stats = emitter.stats()
    # A few threads can find the queue at its bound at once.
    assert stats.dropped + stats.queued == 40_000 and stats.queued <= 10 + 8
    emitter.close(0.0)
    assert emitter.stats().dropped == 40_000


def test_spans_live_around_awaits(telemetry: Telemetry, collector: Collector) -> None:
    async def life(index: int) -> None:
        sample = Sample(index=index)
        telemetry.attempt_start(sample)
        for turn in range(3):
            async with telemetry.gen_span(sample) as span:
                await asyncio.sleep(0.001 * (index % 3))
                sample.weight_versions.append(str(turn))
            assert span.turn == turn + 1
            with telemetry.tool_span(sample):
                await asyncio.sleep(0)
        telemetry.attempt_end(sample)

    async def all_of_them() -> None:
        async with telemetry.phase("rollout"):
            await asyncio.gather(*(life(i) for i in range(1_000)))

    asyncio.run(all_of_them())
    assert telemetry.flush(PATIENCE_S)
    collector.wait_for(14 * 1_000 + 2)
    lives: dict[int, list[tuple[str, int]]] = {}
    for record in collector.records("trajectories"):
        lives.setdefault(record["sample_index"], []).append((record["kind"], record["turn"]))
    spans = [(f"{kind}_{end}", turn) for turn in (1, 2, 3) for kind in ("gen", "tool") for end in ("start", "end")]
    assert len(lives) == 1_000
    assert all(life == [("attempt_start", -1), *spans, ("attempt_end", -1)] for life in lives.values())
    assert not telemetry.trajectories._turns


def test_a_cancelled_task_ends_its_span(telemetry: Telemetry, collector: Collector) -> None:
    async def forever() -> None:
        async with telemetry.gen_span(Sample(index=1)):
            await asyncio.sleep(PATIENCE_S)

    async def cancel() -> None:
        task = asyncio.create_task(forever())
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancel())
    assert [(r["kind"], r["detail"]) for r in collector.wait_for(2)] == [("gen_start", ""), ("gen_end", "CancelledError")]


def test_a_signal_handler_and_a_destructor_may_put(collector: Collector) -> None:
    emitter = Emitter(Address.parse(collector.address))
    emitter.put({"stream": "data_buffer", "ts": 1.0, "length": 0})

    class Dying:
        def __del__(self) -> None:
            numbered(emitter, 1, 1)

    before = signal.signal(signal.SIGALRM, lambda *_: numbered(emitter, 1, 1))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        for _ in range(2_000):
            numbered(emitter, 1, 10)
            Dying()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    gc.collect()
    assert emitter.flush(PATIENCE_S)
    sent = emitter.stats().sent
    assert sent >= 2_000 * 11
    collector.wait_for(sent)
    emitter.close()


def test_descriptors_above_1023_are_no_trouble(collector: Collector) -> None:
    """A training process has thousands of files open, where select() gives up."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2_000:
        pytest.skip("not allowed to open 2,000 files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2_000, hard))
    held: list[int] = []
    try:
        while not held or held[-1] < 1_100:
            held.append(os.dup(0))
        collector.reads.clear()
        emitter = Emitter(Address.parse(collector.address), max_queued=1_000)
        numbered(emitter, 0, 200_000)
        collector.reads.set()
        assert emitter.flush(PATIENCE_S)
        assert emitter.stats().connects == 1
        emitter.close()
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_closed_emitter_takes_nothing_and_says_so(collector: Collector) -> None:
    emitter = Emitter(Address.parse(collector.address))
    numbered(emitter, 0, 10)
    emitter.close()
    emitter.close()
    numbered(emitter, 10, 5)
    assert emitter.flush()
    collector.wait_for(10)
    assert lengths(collector) == list(range(10))
    assert (emitter.stats().sent, emitter.stats().dropped) == (10, 5)


def test_a_thread_that_cannot_start_is_told_and_tried_again(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    emitter = Emitter(Address.parse(collector.address))

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        numbered(emitter, 0, 3)
    assert "can't start new thread" in caplog.text
    numbered(emitter, 3, 1)
    collector.wait_for(4)
    emitter.close()


def test_a_defect_in_the_sending_thread_is_survived(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    emitter = Emitter(Address.parse(collector.address))
    with monkeypatch.context() as patched:
        patched.setattr(emitter, "_send_batch", lambda: 1 / 0)
        numbered(emitter, 0, 1)
        wait_until(lambda: "goes on" in caplog.text, "told")
    numbered(emitter, 1, 1)
    wait_until(lambda: 1 in lengths(collector), "the next record")
    emitter.close()

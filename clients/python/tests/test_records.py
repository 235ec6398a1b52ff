"""What each call writes: the keys of the format in its order (the collector checks them), and values as they should be."""

from __future__ import annotations

import math
import time
from enum import Enum
from typing import Any

import pytest
from conftest import Collector, Sample, wait_until

import miles_telemetry
from miles_telemetry import Engine, Telemetry
from miles_telemetry.link import Address


def test_a_phase_writes_a_marker_and_a_closing_record_of_the_same_identity(telemetry: Telemetry, collector: Collector) -> None:
    before = time.time()
    with telemetry.phase("actor_train"):
        opened = collector.wait_for(1)
        assert opened[0]["t1"] == -1.0
    marker, closed = collector.wait_for(2)
    assert {**marker, "t1": None} == {**closed, "t1": None}
    assert before <= closed["t0"] <= closed["t1"] <= time.time() + 1
    assert closed == {**closed, "node": "10.0.0.1", "gpus": [0], "rank": 0, "role": "train", "name": "actor_train"}
    # On the wire -1.0 is a float, as the job writes it.
    assert b'"t1":-1.0,' in collector.lines[0]


def test_begin_and_close_take_times_and_close_once(telemetry: Telemetry, collector: Collector) -> None:
    phase = telemetry.begin("save_model", t0=1000.5)
    phase.close(t1=1002.5)
    phase.close()
    with telemetry.phase("x") as inner:
        inner.close()
    records = collector.wait_for(4)
    time.sleep(0.1)
    assert len(collector.lines) == 4
    assert [(r["t0"], r["t1"]) for r in records[:2]] == [(1000.5, -1.0), (1000.5, 1002.5)]


def test_a_phase_ends_when_its_block_raises(telemetry: Telemetry, collector: Collector) -> None:
    with pytest.raises(KeyError), telemetry.phase("rollout"):
        raise KeyError("x")
    assert collector.wait_for(2)[1]["t1"] > 0


def test_a_clock_that_is_set_back_gives_no_negative_phase(
    telemetry: Telemetry, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    phase = telemetry.begin("rollout")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 3600)
    phase.close()
    marker, closed = collector.wait_for(2)
    assert 0 <= closed["t1"] - marker["t0"] < 30


def test_the_timers_sink_tells_starts_and_ends(telemetry: Telemetry, collector: Collector) -> None:
    """As miles' Timer does it: one sink, begin(name, t0) and sink(name, t0, t1), names interleaved."""
    sink = telemetry.phase_sink()
    assert sink is telemetry.phase_sink()
    sink.begin("train_wait", 10.0)
    sink.begin("actor_train", 11.0)
    sink("train_wait", 10.0, 12.0)
    sink("actor_train", 11.0, 13.0)
    sink("never_begun", 14.0, 15.0)
    seen = [(r["name"], r["t0"], r["t1"]) for r in collector.wait_for(5)]
    assert seen == [
        ("train_wait", 10.0, -1.0),
        ("actor_train", 11.0, -1.0),
        ("train_wait", 10.0, 12.0),
        ("actor_train", 11.0, 13.0),
        ("never_begun", 14.0, 15.0),
    ]


def test_the_rollout_manager_has_no_gpus_and_no_rank(telemetry: Telemetry, collector: Collector) -> None:
    telemetry.phase_sink("rollout_manager")("rollout", 1.0, 2.0)
    manager = Telemetry(collector.address, role="rollout_manager", node="n", gpus=[3], rank=5)
    manager.begin("rollout")
    for record in collector.wait_for(2):
        assert (record["gpus"], record["rank"], record["role"]) == ([], -1, "rollout_manager")
    manager.close()


def test_timers_that_never_end_are_forgotten_at_a_bound(telemetry: Telemetry) -> None:
    sink = telemetry.phase_sink()
    for i in range(10_000):
        sink.begin("x", float(i))
    assert len(sink._open) <= 256


class Status(Enum):
    COMPLETED = "completed"


def test_a_samples_life_is_told_turn_by_turn(telemetry: Telemetry, collector: Collector) -> None:
    sample = Sample(index=7, group_index=None, status=Status.COMPLETED)
    telemetry.attempt_start(sample)
    for version in ("3", "4"):
        with telemetry.gen_span(sample):
            sample.weight_versions.append(version)
        with telemetry.tool_span(sample, detail="1 calls"):
            pass
    telemetry.attempt_end(sample)
    seen = [(r["kind"], r["turn"], r["weight_version"], r["detail"]) for r in collector.wait_for(10)]
    assert seen == [
        ("attempt_start", -1, "", ""),
        ("gen_start", 1, "", ""),
        ("gen_end", 1, "3", ""),
        ("tool_start", 1, "3", "1 calls"),
        ("tool_end", 1, "3", "1 calls"),
        ("gen_start", 2, "3", ""),
        ("gen_end", 2, "4", ""),
        ("tool_start", 2, "4", "1 calls"),
        ("tool_end", 2, "4", "1 calls"),
        ("attempt_end", -1, "4", "completed"),
    ]
    assert {(r["sample_index"], r["group_index"]) for r in collector.records()} == {(7, -1)}


def test_a_second_attempt_counts_turns_from_one(telemetry: Telemetry, collector: Collector) -> None:
    sample = Sample(index=7)
    for _ in range(2):
        telemetry.attempt_start(sample)
        with telemetry.gen_span(sample) as span:
            pass
        assert span.turn == 1
        # The first attempt of the two is aborted without a word.
    assert len(collector.wait_for(6)) == 6


def test_the_state_of_ended_and_of_forgotten_samples_is_gone(telemetry: Telemetry) -> None:
    for index in range(5_000):
        sample = Sample(index=index)
        telemetry.attempt_start(sample)
        with telemetry.gen_span(sample):
            pass
        telemetry.attempt_end(sample)
    assert not telemetry.trajectories._turns
    bounded = miles_telemetry.Trajectories(lambda record: None, max_samples=100)
    for index in range(5_000):
        with bounded.gen_span(Sample(index=index)):
            pass
    assert len(bounded._turns) == 100


def test_spans_with_both_times_are_written_at_once(telemetry: Telemetry, collector: Collector) -> None:
    """As the job's own lifecycle sink is called."""
    sample = Sample(index=1, group_index=2)
    telemetry.trajectories.gen_start(sample)
    telemetry.trajectories.gen_span(sample, 10.0, 11.0, turn=3)
    telemetry.trajectories.tool_span(sample, 11.0, 12.0, turn=3, detail="search")
    seen = [(r["kind"], r["turn"], r["ts"], r["detail"]) for r in collector.wait_for(5)]
    assert seen[0][:2] == ("gen_start", -1)
    assert seen[1:] == [
        ("gen_start", 3, 10.0, ""),
        ("gen_end", 3, 11.0, ""),
        ("tool_start", 3, 11.0, "search"),
        ("tool_end", 3, 12.0, "search"),
    ]


def test_turns_that_the_session_server_recorded_come_with_the_end(telemetry: Telemetry, collector: Collector) -> None:
    segments = [
        {"t0": 10.0, "t1": 11.0, "turn": 1},
        {"t0": 14.0, "t1": 15.0, "turn": 2, "prev_t1": 11.0, "req_ts": 13.0},
    ]
    turns = [Sample(index=4, metadata={"lifecycle": segment}, status="truncated") for segment in segments]
    telemetry.attempt_start(turns[0])
    telemetry.attempt_end(turns)
    seen = [(r["kind"], r["turn"], r["ts"]) for r in collector.wait_for(8)][1:-1]
    assert seen == [
        ("gen_start", 1, 10.0),
        ("gen_end", 1, 11.0),
        ("tool_start", 2, 11.0),
        ("tool_end", 2, 13.0),
        ("gen_start", 2, 14.0),
        ("gen_end", 2, 15.0),
    ]
    assert collector.records()[-1]["detail"] == "truncated"


def test_an_error_in_a_span_is_its_detail_and_goes_on(telemetry: Telemetry, collector: Collector) -> None:
    with pytest.raises(TimeoutError), telemetry.gen_span(Sample()):
        raise TimeoutError
    assert [r["detail"] for r in collector.wait_for(2)] == ["", "TimeoutError"]


def test_a_sample_without_an_index_has_no_events(telemetry: Telemetry, collector: Collector) -> None:
    sample = Sample(index=None)
    telemetry.attempt_start(sample)
    with telemetry.gen_span(sample), telemetry.tool_span(sample):
        pass
    telemetry.attempt_end(sample)
    telemetry.attempt_end([])
    telemetry.data_buffer(1)
    assert [r["stream"] for r in collector.wait_for(1)] == ["data_buffer"]


def test_metrics_keep_their_step_and_their_scalars(telemetry: Telemetry, collector: Collector) -> None:
    values = {"loss": 0.5, "n": 3, "ok": True, "note": "warm-up", "nan": math.nan, "inf": -math.inf, "list": [1] * 10**6}
    telemetry.metrics("train/step", 12, values)
    values["loss"] = 9.0
    (record,) = collector.wait_for(1)
    assert record["metrics"] == {"loss": 0.5, "n": 3, "ok": True, "note": "warm-up"}
    assert (record["step_key"], record["step"]) == ("train/step", 12)


def test_metrics_without_a_step_or_without_any_number(telemetry: Telemetry, collector: Collector) -> None:
    telemetry.metrics(None, None, {"a": 1})
    telemetry.metrics("x", 3.5, {"a": 2})  # type: ignore[arg-type]
    telemetry.metrics("x", 1, {"a": math.nan})
    telemetry.metrics("x", 4.0, {1: 2})  # type: ignore[arg-type, dict-item]
    records = collector.wait_for(3)
    assert [(r["step_key"], r["step"], r["metrics"]) for r in records] == [
        (None, None, {"a": 1}),
        ("x", None, {"a": 2}),
        ("x", 4, {"1": 2}),
    ]


def test_a_topology_is_told_when_it_changes(telemetry: Telemetry, collector: Collector) -> None:
    engines = [Engine("http://10.0.0.1:15000", gpus=[("10.0.0.1", 0), ("10.0.0.1", 1)])]
    telemetry.topology(engines)
    telemetry.topology(engines)
    telemetry.topology([*engines, {"addr": "http://10.9.9.9:1", "worker_type": "external", "engine_rank": -1}])
    first, second = collector.wait_for(2)
    telemetry.data_buffer(1)
    assert len(collector.wait_for(3)) == 3
    assert first["engines"] == [
        {
            "addr": "http://10.0.0.1:15000",
            "worker_type": "regular",
            "engine_rank": 0,
            "gpus": [["10.0.0.1", 0], ["10.0.0.1", 1]],
            "gpu_uuids": [None, None],
        }
    ]
    assert second["engines"][1] == {
        "addr": "http://10.9.9.9:1",
        "worker_type": "external",
        "engine_rank": -1,
        "gpus": [],
        "gpu_uuids": [],
    }


def test_a_data_buffer_without_a_length_says_nothing(telemetry: Telemetry, collector: Collector) -> None:
    telemetry.data_buffer(None)
    telemetry.data_buffer(17)
    assert [r["length"] for r in collector.wait_for(1)] == [17]


def test_odd_records_are_left_out_and_counted(telemetry: Telemetry, collector: Collector) -> None:
    telemetry.phase_sink()("x", math.nan, 1.0)
    telemetry.begin("x", math.inf)
    telemetry.attempt_start(Sample(index=2**63))
    telemetry.attempt_start(Sample(index=2**63 - 1))
    (record,) = collector.wait_for(1)
    assert record["sample_index"] == 2**63 - 1
    wait_until(lambda: telemetry.stats().invalid == 3, "three invalid records")


def test_calls_with_nonsense_raise_nothing(telemetry: Telemetry) -> None:
    nonsense: Any = object()
    telemetry.attempt_start(nonsense)
    telemetry.attempt_end(nonsense)
    telemetry.gen_start(nonsense)
    with telemetry.gen_span(nonsense), telemetry.tool_span(nonsense):
        pass
    telemetry.data_buffer(nonsense)
    telemetry.metrics(nonsense, nonsense, nonsense)
    telemetry.topology(nonsense)
    telemetry.run_args(nonsense)
    telemetry.begin("x", t0=nonsense).close(t1=nonsense)
    telemetry.phase_sink()(nonsense, nonsense, nonsense)
    telemetry.phase_sink().begin(nonsense, nonsense)


def test_without_an_address_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    threads = threading.active_count()
    sample = Sample()
    with miles_telemetry.phase("x"), miles_telemetry.gen_span(sample), miles_telemetry.tool_span(sample):
        miles_telemetry.attempt_start(sample)
        miles_telemetry.attempt_end(sample)
    miles_telemetry.metrics("a", 1, {"a": 1})
    miles_telemetry.topology([])
    miles_telemetry.run_args({})
    miles_telemetry.data_buffer(1)
    miles_telemetry.phase_sink()("x", 1.0, 2.0)
    assert miles_telemetry.flush() and not miles_telemetry.default().enabled
    assert miles_telemetry.stats().sent == 0 and threading.active_count() == threads
    miles_telemetry.close()


@pytest.mark.parametrize("address", ["7799", "tcp://host", "tcp://host:x", "tcp://:1", "tcp://h:1/path", "unix:", "http://h:1"])
def test_a_wrong_address_is_told_once_and_turns_telemetry_off(
    address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MILES_COLLECT", address)
    for _ in range(3):
        miles_telemetry.data_buffer(1)
    assert not miles_telemetry.default().enabled
    (told,) = caplog.records
    assert "tcp://host:port" in told.getMessage() or "unix:/path" in told.getMessage()


def test_the_functions_of_the_package_use_the_environment(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILES_COLLECT", collector.address)
    miles_telemetry.data_buffer(5)
    assert miles_telemetry.flush()
    assert collector.wait_for(1)[0]["length"] == 5


@pytest.mark.parametrize(
    ("text", "host", "port", "path"),
    [
        ("TCP://head:7799", "head", 7799, ""),
        ("Tcp://[::1]:7799/", "::1", 7799, ""),
        ("tcp://bücher.example:1", "xn--bcher-kva.example", 1, ""),
        ("UNIX:/run/Collect.sock", "", 0, "/run/Collect.sock"),
        ("Unix:///run/c.sock", "", 0, "/run/c.sock"),
    ],
)
def test_the_scheme_of_an_address_is_taken_in_any_case(text: str, host: str, port: int, path: str) -> None:
    found = Address.parse(text)
    assert (found.host, found.port, found.path) == (host, port, path)


def test_an_end_before_its_begin_is_left_out_counted_and_told(
    telemetry: Telemetry, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry.begin("rollout", 100.0).close(99.5)
    telemetry.begin("train", 100.0).close(-1.0)
    sink = telemetry.phase_sink()
    sink.begin("timer", 100.0)
    sink("timer", 100.0, 99.0)
    telemetry.gen_span(Sample(index=1), 100.0).close(98.0)
    telemetry.tool_span(Sample(index=1), 100.0, 98.0)
    telemetry.begin("empty", 100.0).close(100.0)
    assert telemetry.flush()
    collector.wait_for(7)
    assert [(r["name"], r["t1"]) for r in collector.records("phases")] == [
        ("rollout", -1.0),
        ("train", -1.0),
        ("timer", -1.0),
        ("empty", -1.0),
        ("empty", 100.0),
    ]
    assert [r["kind"] for r in collector.records("trajectories")] == ["gen_start", "tool_start"]
    assert telemetry.stats().invalid == 5
    assert "left out the end of phase 'rollout': it would be 0.5 s before its begin" in caplog.text

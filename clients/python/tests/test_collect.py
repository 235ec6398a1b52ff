"""The client against the real `miles-collect`: what arrives on disk, under forks, restarts and kills.

MILES_BIN_DIR names the folder of the built tools (default: target/debug of this checkout).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import KEYS, PATIENCE_S, Sample, python, strict, wait_until

from miles_telemetry import Engine, Telemetry

ROOT = Path(__file__).resolve().parents[3]
HOURLY = {"phases", "trajectories"}


def binary(name: str) -> Path:
    told = os.environ.get("MILES_BIN_DIR")
    path = Path(told or ROOT / "target" / "debug") / name
    if not path.exists():
        if told:
            pytest.fail(f"{path} is not built")
        # A skip is one letter among dots; this is a line in the summary.
        warnings.warn(f"NOT TESTED against the real collector: {path} is not built", stacklevel=2)
        pytest.skip(f"{path} is not built: run `cargo build` or set MILES_BIN_DIR")
    return path


class Real:
    """`miles-collect` on a run directory."""

    def __init__(self, run: Path, listen: str, *args: str) -> None:
        self.run = run
        self.said: list[str] = []
        command: list[str | Path] = [binary("miles-collect"), "-d", run, "--listen", listen, "--flush-interval", "0.05", "-v", *args]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("MILES_")}
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        wait_until(lambda: self.address != "" or self.process.poll() is not None, "the collector listens")
        assert self.address, self.said

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line.rstrip())

    @property
    def address(self) -> str:
        found = re.search(r"listening on (\S+)", "\n".join(self.said))
        return found[1] if found else ""

    def end(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        status = self.process.wait(PATIENCE_S)
        self._listener.join(PATIENCE_S)
        return status

    def records(self, stream: str) -> list[dict[str, Any]]:
        """What is on disk, each line strict JSON with the keys of the format and no others."""
        dashboard = self.run / "dashboard"
        paths = sorted((dashboard / stream).glob("*.jsonl")) if stream in HOURLY else [dashboard / f"{stream}.jsonl"]
        records = []
        for path in paths:
            text = path.read_bytes() if path.exists() else b""
            for line in text.split(b"\n")[:-1]:
                record = strict(b'{"stream":"%s",' % stream.encode() + line[1:])
                assert list(record) == KEYS[stream]
                records.append(record)
        return records

    def wait_for(self, stream: str, count: int) -> list[dict[str, Any]]:
        wait_until(lambda: len(self.records(stream)) >= count, f"{count} records of {stream}: {self.said}")
        return self.records(stream)

    def meta(self) -> dict[str, Any]:
        meta: dict[str, Any] = json.loads((self.run / "dashboard" / "meta.json").read_text())
        return meta


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Real]]:
    started: list[Real] = []

    def start(listen: str = "tcp://127.0.0.1:0", *args: str) -> Real:
        started.append(Real(tmp_path / "run", listen, *args))
        return started[-1]

    yield start
    for real in started:
        if real.process.poll() is None:
            real.process.kill()
            real.process.wait()


def lengths(real: Real) -> list[int]:
    return [record["length"] for record in real.records("data_buffer")]


@pytest.mark.parametrize("over", ["tcp", "unix"])
def test_a_step_of_training_is_on_disk_as_it_was_told(start: Callable[..., Real], over: str, tmp_path: Path) -> None:
    real = start("tcp://127.0.0.1:0" if over == "tcp" else f"unix:{tmp_path}/collect.sock")
    trainer = Telemetry(real.address, node="10.0.0.1", gpus=[3], rank=3)
    manager = Telemetry(real.address, role="rollout_manager", node="10.0.0.1")
    before = time.time()
    manager.run_args(argparse.Namespace(wandb_group="grpo-7", colocate=True, n_samples_per_prompt=8, wandb_key="hush"))
    manager.topology([Engine("http://10.0.0.1:15000", gpus=[("10.0.0.1", 3)])])
    manager.data_buffer(17)
    sample = Sample(index=5, group_index=None, weight_versions=[], status="completed")
    with manager.phase("rollout"):
        manager.attempt_start(sample)
        with manager.gen_span(sample):
            sample.weight_versions.append("12")
        with manager.tool_span(sample, detail="1 calls"):
            pass
        manager.attempt_end(sample)
    with trainer.phase("actor_train"):
        pass
    trainer.metrics("rollout/step", 0, {"perf/step_time": 9.5, "nan": float("nan"), "note": "a\ud83d", "ok": True})
    trainer.close()
    manager.close()
    real.wait_for("metrics", 1)
    assert real.end() == 0
    assert not [line for line in real.said if "warning" in line], real.said
    phases = real.records("phases")
    assert sorted((p["name"], p["t1"] < 0, p["rank"], p["gpus"], p["role"]) for p in phases) == [
        ("actor_train", False, 3, [3], "train"),
        ("actor_train", True, 3, [3], "train"),
        ("rollout", False, -1, [], "rollout_manager"),
        ("rollout", True, -1, [], "rollout_manager"),
    ]
    kinds = [(t["kind"], t["turn"], t["weight_version"], t["group_index"]) for t in real.records("trajectories")]
    assert kinds == [
        ("attempt_start", -1, "", -1),
        ("gen_start", 1, "", -1),
        ("gen_end", 1, "12", -1),
        ("tool_start", 1, "12", -1),
        ("tool_end", 1, "12", -1),
        ("attempt_end", -1, "12", -1),
    ]
    assert [m["metrics"] for m in real.records("metrics")] == [{"perf/step_time": 9.5, "note": "a\ufffd", "ok": True}]
    assert [d["length"] for d in real.records("data_buffer")] == [17]
    assert [t["engines"][0]["gpus"] for t in real.records("topology")] == [[["10.0.0.1", 3]]]
    meta = real.meta()
    assert (meta["run_name"], meta["schema_version"]) == ("grpo-7", 1)
    assert meta["args"] == {"wandb_group": "grpo-7", "colocate": True, "n_samples_per_prompt": 8}
    assert before <= meta["start_ts"] <= time.time()
    assert "hush" not in (real.run / "dashboard" / "meta.json").read_text()
    lanes = json.loads((real.run / "dashboard" / "lane_catalog.json").read_text())["lanes"]
    addr = "http://10.0.0.1:15000"
    assert lanes == {"10.0.0.1:3": {"ranks": [3], "engine_addrs": [addr], "roles": ["rollout", "train"]}}


def test_thousands_of_samples_on_one_event_loop_arrive_whole(start: Callable[..., Real]) -> None:
    real = start()
    telemetry = Telemetry(real.address)

    async def life(index: int) -> None:
        sample = Sample(index=index, group_index=index // 8)
        telemetry.attempt_start(sample)
        for turn in range(2):
            async with telemetry.gen_span(sample):
                await asyncio.sleep(0)
                sample.weight_versions.append(str(turn))
        telemetry.attempt_end(sample)

    async def all_of_them() -> None:
        await asyncio.gather(*(life(i) for i in range(3_000)))

    asyncio.run(all_of_them())
    telemetry.close(PATIENCE_S)
    records = real.wait_for("trajectories", 18_000)
    assert len(records) == 18_000
    for kind, turn, version in [("gen_end", 1, "0"), ("gen_end", 2, "1"), ("attempt_end", -1, "1")]:
        found = [r["sample_index"] for r in records if (r["kind"], r["turn"], r["weight_version"]) == (kind, turn, version)]
        assert sorted(found) == list(range(3_000))
    assert real.end() == 0


def test_a_collector_that_ends_and_starts_again_has_every_record_once(start: Callable[..., Real]) -> None:
    """Ended in order between bursts: nothing is lost, nothing is doubled."""
    real = start()
    address = real.address
    telemetry = Telemetry(address)
    for round_ in range(5):
        for i in range(1_000):
            telemetry.data_buffer(round_ * 1_000 + i)
        real.wait_for("data_buffer", (round_ + 1) * 1_000)
        assert real.end() == 0
        if round_ % 2:
            telemetry.data_buffer((round_ + 1) * 1_000)  # while nobody is there
        real = start(address)
    telemetry.close()
    real.wait_for("data_buffer", 5_002)
    assert real.end() == 0
    got = lengths(real)
    assert sorted(got) == sorted([*range(5_000), 2_000, 4_000])


def test_a_collector_that_is_killed_loses_what_it_had_read_and_doubles_nothing(start: Callable[..., Real]) -> None:
    real = start()
    address = real.address
    telemetry = Telemetry(address)
    stop = threading.Event()
    told = 0

    def produce() -> None:
        nonlocal told
        while not stop.wait(0.0005):
            telemetry.data_buffer(told)
            told += 1

    producer = threading.Thread(target=produce)
    producer.start()
    for _ in range(4):
        before = len(real.records("data_buffer"))
        wait_until(lambda before=before: len(real.records("data_buffer")) > before + 100, "records flow")  # type: ignore[misc]
        real.end(signal.SIGKILL)
        real = start(address)
    stop.set()
    producer.join()
    telemetry.close()
    wait_until(lambda: bool(lengths(real)) and lengths(real)[-1] == told - 1, "the last record")
    assert real.end() == 0
    got = lengths(real)
    assert got == sorted(set(got)) and len(got) > 400
    print(f"{told} records told, {len(got)} on disk after four kills")


def test_a_collector_that_stands_still_holds_nobody_up(start: Callable[..., Real]) -> None:
    real = start()
    telemetry = Telemetry(real.address, max_queued=1_000)
    real.process.send_signal(signal.SIGSTOP)
    slowest = 0.0
    for i in range(100_000):
        began = time.perf_counter()
        telemetry.data_buffer(i)
        slowest = max(slowest, time.perf_counter() - began)
    stats = telemetry.stats()
    print(f"slowest of 100,000 calls {slowest * 1e3:.2f} ms; {stats}")
    assert stats.dropped > 0
    real.process.send_signal(signal.SIGCONT)
    assert telemetry.flush(PATIENCE_S)
    stats = telemetry.stats()
    telemetry.close()
    assert stats.sent + stats.dropped == 100_000
    real.wait_for("data_buffer", stats.sent)
    assert real.end() == 0
    got = lengths(real)
    assert got == sorted(set(got)) and len(got) == stats.sent and got[-1] == 99_999


def test_processes_of_every_kind_end_up_in_one_run(start: Callable[..., Real]) -> None:
    real = start()
    code = """
import multiprocessing, os, sys
import miles_telemetry as t

def child(first):
    for i in range(first, first + 100): t.data_buffer(i)

if __name__ == "__main__":
    child(0)
    for n, method in enumerate(["fork", "spawn", "forkserver"], 1):
        process = multiprocessing.get_context(method).Process(target=child, args=(n * 100,))
        process.start(); process.join()
        assert process.exitcode == 0
    pid = os.fork()
    if pid == 0:
        child(400); t.flush(); os._exit(0)
    os.waitpid(pid, 0)
    child(500)
"""
    script = real.run / "job.py"
    script.write_text(code)
    done = python(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')", real.address)
    assert done.returncode == 0, done.stderr
    real.wait_for("data_buffer", 600)
    assert real.end() == 0
    assert sorted(lengths(real)) == list(range(600))

"""Who a process says it is."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
from conftest import Collector

from miles_telemetry import Telemetry
from miles_telemetry.identity import Resolver, node_address, process_rank, visible_gpus


def ray(**answers: Any) -> Any:
    module: Any = types.ModuleType("ray")
    module.is_initialized = lambda: True
    module.get_gpu_ids = lambda: answers.get("gpus", [])
    module.util = types.SimpleNamespace(get_node_ip_address=lambda: answers.get("node", "10.1.2.3"))
    return module


def test_ray_is_asked_for_host_and_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", ray(gpus=["3", 4], node="[fd00::1]"))
    assert node_address() == "fd00::1"
    assert visible_gpus() == (3, 4)


def test_a_ray_that_is_not_running_or_fails_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ray(gpus=["GPU-uuid"])
    monkeypatch.setitem(sys.modules, "ray", broken)
    assert visible_gpus() == ()
    broken.is_initialized = lambda: 1 / 0
    assert visible_gpus() == () and node_address()


def test_the_host_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILES_NODE", "node-7")
    assert node_address() == "node-7"


def test_the_host_is_an_address_of_this_machine() -> None:
    parts = node_address().split(".")
    assert len(parts) == 4 and all(part.isdecimal() for part in parts)


@pytest.mark.parametrize(
    ("visible", "local", "gpus"),
    [
        (None, None, ()),
        (None, "2", (2,)),
        ("4,5,6,7", "2", (6,)),
        ("5", "2", (5,)),
        ("4,5", None, (4, 5)),
        ("", "0", ()),
        ("GPU-8f1c,GPU-9d2e", "0", ()),
    ],
)
def test_gpus_are_physical(visible: str | None, local: str | None, gpus: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    if local is not None:
        monkeypatch.setenv("LOCAL_RANK", local)
    assert visible_gpus() == gpus


def test_the_rank_is_that_of_torch_or_of_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    fake: Any = types.ModuleType("torch.distributed")
    fake.is_available = fake.is_initialized = lambda: True
    fake.get_rank = lambda: 11
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    assert process_rank() == -1
    monkeypatch.setenv("RANK", "5")
    assert process_rank() == 5
    monkeypatch.setitem(sys.modules, "torch.distributed", fake)
    assert process_rank() == 11
    fake.is_initialized = lambda: False
    assert process_rank() == 5


def test_a_rank_that_appears_later_is_found(monkeypatch: pytest.MonkeyPatch, collector: Collector) -> None:
    """Sinks are attached before torch.distributed is initialised; a phase ends as what it began as."""
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    telemetry = Telemetry(collector.address, node="n", gpus=[0])
    sink = telemetry.phase_sink()
    sink.begin("initialize", 1.0)
    phase = telemetry.begin("a")
    monkeypatch.setenv("RANK", "5")
    sink("initialize", 1.0, 2.0)
    phase.close()
    sink.begin("b", 3.0)
    assert [r["rank"] for r in collector.wait_for(5)] == [-1, -1, -1, -1, 5]
    telemetry.close()


def test_what_the_caller_says_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", ray(gpus=[3]))
    monkeypatch.setenv("RANK", "5")
    who = Resolver("train", "host", [1, 2], 9).identity()
    assert (who.node, who.gpus, who.rank) == ("host", (1, 2), 9)


def test_nonsense_from_the_caller_is_told_and_looked_up(caplog: pytest.LogCaptureFixture, collector: Collector) -> None:
    odd: Any = "driver"
    telemetry = Telemetry(collector.address, role=odd, rank=odd, node="n")
    telemetry.begin("x")
    (record,) = collector.wait_for(1)
    assert (record["role"], record["rank"]) == ("train", -1)
    assert "driver" in caplog.text
    telemetry.close()

"""From whatever a caller logs to strict JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any

import pytest
from conftest import strict

from miles_telemetry.values import MISSING, encode, plain_args, scalar, snapshot, whole_text


class Level(IntEnum):
    HIGH = 3


class Colour(Enum):
    RED = "red"


class Mode(str, Enum):
    FAST = "fast"


class Own(float):
    def __repr__(self) -> str:
        return "own"


class Hostile:
    def __float__(self) -> float:
        raise RuntimeError("no")

    @property
    def item(self) -> Any:
        raise OSError("no")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (1, 1),
        (True, True),
        (0.5, 0.5),
        ("text", "text"),
        (Level.HIGH, 3),
        (Mode.FAST, "fast"),
        (Colour.RED, "red"),
        (Own(2.5), 2.5),
        (Decimal("0.25"), 0.25),
        (Fraction(1, 4), 0.25),
    ],
)
def test_one_number_or_text_becomes_plain(value: object, plain: object) -> None:
    got = scalar(value)
    assert got == plain and type(got) is type(plain)


@pytest.mark.parametrize("value", [None, [1], (1,), {"a": 1}, b"x", 1j, object(), Hostile(), int, math.sqrt, range(3)])
def test_everything_else_is_missing(value: object) -> None:
    assert scalar(value) is MISSING


def test_numpy_scalars_and_arrays_of_one_element() -> None:
    np = pytest.importorskip("numpy")
    cases = [
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.float16(0.5), 0.5),
        (np.int64(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.array(2.0), 2.0),
        (np.array([2]), 2),
        (np.array([[True]]), True),
    ]
    for value, plain in cases:
        got = scalar(value)
        assert got == plain and type(got) is type(plain), value
    for value in (np.zeros(2), np.zeros(0), np.complex64(1), np.datetime64("2026-01-01"), np.bytes_(b"x"), np.array(["a", "b"])):
        assert scalar(value) is MISSING, value


def test_torch_scalars_and_tensors_of_one_element() -> None:
    torch = pytest.importorskip("torch")
    loss = torch.tensor(0.5, requires_grad=True)
    cases = [
        (loss, 0.5),
        (torch.tensor([3]), 3),
        (torch.tensor(True), True),
        (torch.tensor(0.5, dtype=torch.bfloat16), 0.5),
    ]
    for value, plain in cases:
        got = scalar(value)
        assert got == plain and type(got) is type(plain), value
    for value in (torch.zeros(2), torch.zeros(0), torch.zeros(1, device="meta"), torch.float32, torch.device("cpu")):
        assert scalar(value) is MISSING, value
    values = {"loss": loss, "grad": torch.zeros(5), "n": 1}
    kept = snapshot(values)
    with torch.no_grad():
        loss.fill_(9.0)
    assert kept == {"loss": 0.5, "n": 1}


def metrics(**values: object) -> dict[str, Any]:
    [line], _ = encode({"stream": "metrics", "ts": 1.0, "step_key": None, "step": None, "metrics": dict(values)})
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    found: dict[str, Any] = strict(line)["metrics"]
    return found


def test_numbers_are_exact_or_not_there() -> None:
    wide = 2**64 + 1
    found = metrics(a=wide, b=-(2**63), c=10**400, d=math.nan, e=math.inf, f=5e-324, g=10**5000, h=0.1 + 0.2)
    assert found == {"a": wide, "b": -(2**63), "f": 5e-324, "h": 0.1 + 0.2}


def test_what_the_collector_would_refuse_for_its_length_is_left_out() -> None:
    assert metrics(page="x" * 100_000, note="x" * 1_000) == {"note": "x" * 1_000}


def test_metrics_that_are_too_many_for_a_line_are_told_on_several() -> None:
    wide: dict[str, object] = {f"m{i}": i / 7 for i in range(100_000)}
    wide |= {f"page{i}": "\x00ü" * 30_000 for i in range(20)}
    lines, complaints = encode({"stream": "metrics", "ts": 1.5, "step_key": "s", "step": 3, "metrics": wide})
    assert len(lines) > 2 and not complaints
    records = [strict(line) for line in lines]
    assert all(len(line) <= 1024 * 1024 for line in lines)
    assert {(r["stream"], r["ts"], r["step_key"], r["step"]) for r in records} == {("metrics", 1.5, "s", 3)}
    assert [item for r in records for item in r["metrics"].items()] == list(wide.items())


def test_what_is_too_long_is_left_out_by_name_with_its_size_and_the_limit() -> None:
    def told(**values: object) -> list[str]:
        return encode({"stream": "metrics", "ts": 1.0, "step_key": None, "step": None, "metrics": values}).complaints

    assert told(page="x" * 100_000, note=1) == ["left out 'page': 100000 characters, at most 65536 are taken"]
    assert told(n=10**400) == ["left out 'n': 401 digits, at most 309 are taken"]
    [complaint] = told(**{"k" * 70_000: 1})
    assert complaint == f"left out '{'k' * 80}': 70000 characters of its name, at most 65536 are taken"
    lines, complaints = encode({"stream": "topology", "ts": 1.0, "engines": ["x" * 2_000_000]})
    assert not lines
    assert complaints == ["left out a record of topology: its line has 2000046 bytes, the collector takes 1048576"]


def test_integers_of_any_width_keep_their_digits() -> None:
    class Wide:
        def __index__(self) -> int:
            return 2**70 + 1

        def __float__(self) -> float:
            return float(2**70 + 1)

    assert metrics(a=2**64 + 1, b=-(2**200) - 1) == {"a": 2**64 + 1, "b": -(2**200) - 1}
    assert scalar(Wide()) == 2**70 + 1
    args = plain_args({"seed": 2**64 + 1, "wide": Wide(), "top": 2**64 - 1})
    [line], _ = encode({"stream": "meta", "run_name": "r", "args": args})
    assert strict(line)["args"] == {"seed": 2**64 + 1, "wide": 2**70 + 1, "top": 2**64 - 1}


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("plain", "plain"),
        ("\ud83d", "\ufffd"),
        ("a\ude00b", "a\ufffdb"),
        ("\ud83d\ude00", "\U0001f600"),
        ("é\u2028\n\0\x7f\"\\", "é\u2028\n\0\x7f\"\\"),
    ],
)
def test_text_is_whole_on_the_wire(text: str, whole: str) -> None:
    assert whole_text(text) == whole
    assert metrics(**{text: text}) == {whole: whole}


def test_a_snapshot_is_no_view() -> None:
    class Odd(dict[str, object]):
        def __iter__(self) -> Iterator[str]:
            raise RuntimeError

    values: dict[str, object] = {"a": 1}
    kept = snapshot(values)
    values["b"] = 2
    assert kept == {"a": 1}
    assert sys.getrefcount(kept) <= 3


def test_records_that_json_has_no_words_for_are_none() -> None:
    def is_none(record: dict[str, object]) -> bool:
        lines, complaints = encode(record)
        return not lines and complaints == [f"left out a record of {record['stream']} that JSON cannot hold"]

    assert is_none({"stream": "data_buffer", "ts": math.nan, "length": 1})
    assert is_none({"stream": "data_buffer", "ts": 1.0, "length": True})
    assert is_none({"stream": "phases", "rank": 1, "name": object()})
    [line], _ = encode({"stream": "data_buffer", "ts": 1.0, "length": 0})
    assert json.loads(line)["length"] == 0

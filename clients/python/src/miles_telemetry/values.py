"""Values as they may go over the wire: what a caller hands in becomes plain scalars, and a record one line of strict JSON.

A caller's thread runs `scalar` and `snapshot` only: they read what could change after the call. Everything else (finite
numbers, whole text, JSON) is `encode`, which the sending thread runs.
"""

from __future__ import annotations

import codecs
import json
import math
import operator
import os
import sys
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple, Union

Scalar = Union[bool, int, float, str]
Record = dict[str, object]

_PLAIN: Final[frozenset[type]] = frozenset({bool, int, float, str})

# An id is read as a signed 64-bit number; a wider one would be rounded, which is worse than a missing record.
_ID_MIN: Final = -(2**63)
_ID_MAX: Final = 2**63 - 1
_ID_FIELDS: Final = {
    "trajectories": ("sample_index", "group_index", "turn"),
    "data_buffer": ("length",),
    "phases": ("rank",),
}

# The collector takes lines of one MiB. A text of this length among metrics is a page or a table, no value.
_LINE_MAX: Final = 1024 * 1024
_TEXT_MAX: Final = 64 * 1024
# The largest float, and how many digits it has.
_FLOAT_MAX: Final = int(sys.float_info.max)
_DIGITS_MAX: Final = 309

# The stream of no record, see `refused`.
_REFUSED: Final = "refused"

# One encoder for all records: json.dumps with arguments makes a new one at each call.
_dumps: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode

# Loaded now: the sending thread imports nothing, as a child that is forked meanwhile would never have it.
codecs.lookup("utf-16-le")


class _Missing(Enum):
    MISSING = 0


MISSING: Final = _Missing.MISSING
"""What `scalar` answers for a value that is not one number, bool or text."""


def scalar(value: object) -> Scalar | _Missing:
    """A plain bool, int, float or str of whatever holds exactly one: subclasses of them, Enum members, NumPy and torch
    scalars, arrays and tensors of one element, anything that converts to float. Everything else is `MISSING`.

    Never raises. On a tensor of an accelerator it waits for that tensor, as `float(tensor)` does.
    """
    kind = type(value)
    if kind is bool or kind is int or kind is float or kind is str:
        return value  # type: ignore[return-value]
    try:
        # Exact types from here on: json would write an IntEnum or a float64 by a repr of its own.
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, bool):
            return bool(value)
        if isinstance(value, int):
            return int.__int__(value)
        if isinstance(value, float):
            return float.__float__(value)
        if isinstance(value, Enum):
            return MISSING if value.value is value else scalar(value.value)
        if value is None or isinstance(value, (bytes, bytearray, complex)):
            return MISSING
        item = getattr(value, "item", None)
        if callable(item):
            # NumPy and torch refuse this for more than one element.
            plain = item()
            return MISSING if type(plain) not in _PLAIN else plain
        if hasattr(kind, "__index__"):
            # An integer of another library: exact, where a float would round it.
            return operator.index(value)  # type: ignore[arg-type]
        if hasattr(kind, "__float__"):
            return float(value)  # type: ignore[arg-type]
    except Exception:  # whatever a stranger's class raises, the value is not a number
        return MISSING
    return MISSING


def snapshot(values: Mapping[Any, object]) -> dict[Any, Scalar]:
    """A copy that holds plain scalars only. Keys are as they were: they cannot change, so `encode` looks at them."""
    copy: dict[Any, object] = dict(values)
    if _PLAIN.issuperset(map(type, copy.values())):
        return copy  # type: ignore[return-value]
    return {key: plain for key, value in copy.items() if (plain := scalar(value)) is not MISSING}


def plain_args(values: Mapping[str, object]) -> dict[str, Scalar | None]:
    """Arguments that are one scalar, None or a path; the others are left out."""
    kept: dict[str, Scalar | None] = {}
    for key, value in values.items():
        if value is None:
            kept[key] = None
            continue
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        plain = scalar(value)
        if plain is not MISSING:
            kept[key] = plain
    return kept


def whole_text(text: str) -> str:
    """The text with lone surrogates replaced, which UTF-8 has no bytes for; split pairs are joined."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Encoded(NamedTuple):
    """What becomes of a record."""

    lines: list[bytes]
    """Strict JSON, each with its newline and short enough for the collector: mostly one, several of very many metrics."""
    complaints: list[str]
    """What was left out, for people."""


def refused(why: str) -> Record:
    """Stands in the queue for a record that would be wrong, so that it is counted and told where no caller waits for it."""
    return {"stream": _REFUSED, "why": why}


def encode(record: Record) -> Encoded:
    """A record as lines. A record without lines has a complaint."""
    stream = record.get("stream")
    if stream == _REFUSED:
        return Encoded([], [f"left out {record['why']}"])
    complaints: list[str] = []
    try:
        if not _ids_fit(record, _ID_FIELDS.get(str(stream), ())):
            raise ValueError("an id that is none")
        if stream == "metrics":
            metrics = _finite(record["metrics"], complaints)
            if metrics:
                return Encoded(_metrics_lines(record, metrics), complaints)
            if complaints:
                return Encoded([], complaints)
            raise ValueError("nothing to tell")
        if stream == "meta":
            record = {**record, "args": _finite(record["args"], complaints)}
        return Encoded([_line(record)], complaints)
    except _TooLong as error:
        complaints.append(f"left out a record of {stream}: its line has {error.size} bytes, the collector takes {_LINE_MAX}")
    except (ValueError, TypeError, RecursionError):
        # A time that is not a number belongs to no hour, and what JSON has no words for is no record.
        complaints.append(f"left out a record of {stream} that JSON cannot hold")
    return Encoded([], complaints)


class _TooLong(Exception):
    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


def _metrics_lines(record: Record, metrics: dict[str, object]) -> list[bytes]:
    """One line, or several of the same time and step, each with a part of the metrics."""
    try:
        return [_line({**record, "metrics": metrics})]
    except _TooLong:
        if len(metrics) == 1:
            raise
    items = list(metrics.items())
    half = len(items) // 2
    return [*_metrics_lines(record, dict(items[:half])), *_metrics_lines(record, dict(items[half:]))]


def _line(record: object) -> bytes:
    try:
        line = (_dumps(record) + "\n").encode("utf-8")
    except UnicodeEncodeError:
        # Lone surrogates are rare: look for them only when UTF-8 refuses.
        line = (_dumps(_whole(record)) + "\n").encode("utf-8")
    if len(line) > _LINE_MAX:
        raise _TooLong(len(line))
    return line


def _ids_fit(record: Record, fields: Iterable[str]) -> bool:
    for field in fields:
        value = record[field]
        if type(value) is not int or not _ID_MIN <= value <= _ID_MAX:
            return False
    return True


def _finite(values: object, complaints: list[str]) -> dict[str, object]:
    """What JSON can hold. NaN and the infinities are left out: a missing value is a missing key. What is left out for its
    length is a complaint."""
    kept: dict[str, object] = {}
    if isinstance(values, dict):
        for key, value in values.items():
            name = key if type(key) is str else str(key)
            if isinstance(value, float) and not math.isfinite(value):
                continue
            size, of = (len(name), "characters of its name") if len(name) > _TEXT_MAX else _oversize(value)
            if size:
                limit = _DIGITS_MAX if of == "digits" else _TEXT_MAX
                complaints.append(f"left out {name[:80]!r}: {size} {of}, at most {limit} are taken")
            else:
                kept[name] = value
    return kept


def _oversize(value: object) -> tuple[int, str]:
    """How large a value is that is too large, and in what; 0 for all others."""
    if isinstance(value, str) and len(value) > _TEXT_MAX:
        return len(value), "characters"
    # An int keeps all its digits as long as a float can come near it: further out, readers take it for infinite or fail.
    if isinstance(value, int) and not -_FLOAT_MAX <= value <= _FLOAT_MAX:
        return int(value.bit_length() * math.log10(2)) + 1, "digits"
    return 0, ""


def _whole(value: object) -> object:
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return value

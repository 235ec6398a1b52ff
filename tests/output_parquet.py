"""Checks a file of tests/output.rs with polars and pyarrow: types and values, nulls and lists."""

import json
import sys

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

path, empty = sys.argv[1:]

table = pq.read_table(path)
types = {field.name: field.type for field in table.schema}
assert types["flag"] == pa.bool_(), types
assert types["index"] == pa.int64(), types
assert types["reward"] == pa.float32(), types
assert types["ts"] == pa.float64(), types
assert types["status"] == pa.string(), types
assert types["tokens"].value_type == pa.int32(), types
assert types["mask"].value_type == pa.int8(), types
assert types["log_probs"].value_type == pa.float32(), types
assert types["versions"].value_type == pa.string(), types

frame = pl.read_parquet(path)
assert frame.schema["extra"] == pl.String, frame.schema
assert frame.schema["mask"] == pl.List(pl.Int8), frame.schema
assert frame.schema["log_probs"] == pl.List(pl.Float32), frame.schema


def near(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-6 * max(1.0, abs(b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b))
    return a == b


full = {
    "flag": True,
    "index": 9007199254740993,
    "reward": 0.1,
    "ts": 1760000000.25,
    "status": 'say "hi",\n\x1b[31m',
    "tokens": [1, -2, 150000],
    "mask": [0, 1, -1],
    "log_probs": [-0.5, None, 1e-7],
    "versions": ["57", None],
}
bare = {name: None for name in full} | {"tokens": [], "log_probs": [], "versions": []}
tokens = list(range(100_000))
log_probs = [None if t % 7 == 0 else -t / 8 for t in tokens]

for rows in (table.to_pylist(), frame.to_dicts()):
    assert len(rows) == 22
    assert json.loads(rows[0].pop("extra")) == {"a": [1, None]}
    assert rows[1].pop("extra") is None
    for have, want in ((rows[0], full), (rows[1], bare)):
        for name, value in want.items():
            assert near(have[name], value), (name, have[name], value)
    for at, row in enumerate(rows[2:]):
        assert row["index"] == at
        assert row["tokens"] == tokens
        assert row["log_probs"] == log_probs

assert pq.read_metadata(path).created_by.startswith("miles-tools version ")
# Row groups can be skipped by a scalar's statistics.
assert pl.scan_parquet(path).filter(pl.col("index") == 7).select("index").collect().height == 1
assert pq.read_table(empty).num_rows == 0
assert pl.read_parquet(empty).columns == table.column_names

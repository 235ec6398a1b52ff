"""Parquet that miles-dump writes opens in polars and pyarrow, with the values of its NDJSON."""

import json

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import rows, tool
from values import same

CASES = [
    ("data_parallel", "summary", "0"),
    ("data_parallel", "summary", "1", "--eval"),
    ("data_parallel", "summary", "0-1"),
    ("data_parallel", "groups", "1"),
    ("data_parallel", "joined", "0"),
    ("data_parallel", "tokens", "0", "1"),
    ("data_parallel", "samples", "0"),
    ("cp_thd", "joined", "2"),
    ("broken_slices", "joined", "0"),
    ("partial_ranks", "joined", "0"),
    ("odd", "summary", "5"),
    ("odd", "joined", "5"),
    ("odd", "samples", "5"),
]


def plain(value):
    """A polars or Arrow value as Python's own."""
    return [plain(v) for v in value] if isinstance(value, (list, pl.Series)) else value


def agree(from_parquet, from_json):
    """Rows agree; nested values are JSON text in Parquet and JSON itself in NDJSON."""
    assert len(from_parquet) == len(from_json)
    for number, (p, j) in enumerate(zip(from_parquet, from_json)):
        assert list(p) == list(j)
        for column, value in p.items():
            value, want = plain(value), j[column]
            if isinstance(value, str) and value != want:
                value = json.loads(value)
            same(value, want, f"row {number} {column}")


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_parquet_opens_in_polars_and_pyarrow_with_the_values_of_ndjson(case, copy_run, tmp_path):
    run, *command = case
    directory, out = copy_run(run), tmp_path / "x.parquet"
    want = rows("miles-dump", *command, run=directory)
    assert want, "no rows to compare"
    assert tool("miles-dump", *command, "-o", out, run=directory) == ""
    agree(pl.read_parquet(out).to_dicts(), want)
    agree(pq.read_table(out).to_pylist(), want)


def test_lists_have_the_narrow_types_that_the_job_uses(copy_run, tmp_path):
    out = tmp_path / "joined.parquet"
    tool("miles-dump", "joined", "0", "-o", out, run=copy_run("data_parallel"))
    schema = pq.read_schema(out)
    assert schema.field("sample_index").type == pa.int64()
    elements = {f.type.value_type for f in schema if pa.types.is_list(f.type) or pa.types.is_large_list(f.type)}
    # Token ids, masks, log-probs.
    assert {pa.int32(), pa.int8(), pa.float32()} <= elements
    assert pa.float64() not in elements


def test_a_missing_value_is_null_and_never_nan(copy_run, tmp_path):
    out = tmp_path / "joined.parquet"
    tool("miles-dump", "joined", "5", "-o", out, run=copy_run("odd"))
    frame = pl.read_parquet(out)
    for name, dtype in frame.schema.items():
        flat = frame[name].explode() if dtype == pl.List else frame[name]
        if flat.dtype.is_float():
            assert not flat.drop_nulls().is_nan().any(), name

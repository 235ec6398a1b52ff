"""Writes one table in many ways with polars and pyarrow, for tests/rows.rs; prints the versions."""

import pathlib
import sys

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

folder = pathlib.Path(sys.argv[1])
N = 40


def column(make):
    return [make(i) for i in range(N)]


data = {
    "sample_index": column(lambda i: i * 7 % N),
    "response_length": column(lambda i: i % 5),
    "tokens": column(lambda i: list(range(i * 10, i * 10 + i % 5 + 1))),
    "loss_mask": column(lambda i: None if i % 6 == 5 else [1] * (i % 5)),
    "rollout_log_probs": column(lambda i: None if i % 7 == 6 else [None if p == 1 else -p / 8 for p in range(i % 5)]),
    "status": column(lambda i: None if i % 4 == 3 else f"é{i % 3}"),
    "done": column(lambda i: None if i % 9 == 8 else i % 2 == 0),
    "reward": column(lambda i: None if i % 8 == 7 else i / 4),
    "time": column(lambda i: i / 10),
    "versions": column(lambda i: None if i % 5 == 4 else [None if v == 1 else str(v) for v in range(i % 4)]),
}
frame = pl.DataFrame(
    data,
    schema={
        "sample_index": pl.Int32,
        "response_length": pl.Int32,
        "tokens": pl.List(pl.Int32),
        "loss_mask": pl.List(pl.Int8),
        "rollout_log_probs": pl.List(pl.Float32),
        "status": pl.String,
        "done": pl.Boolean,
        "reward": pl.Float32,
        "time": pl.Float64,
        "versions": pl.List(pl.String),
    },
)
for codec in ("zstd", "snappy", "uncompressed", "gzip", "lz4"):
    frame.write_parquet(folder / f"polars_{codec}.parquet", compression=codec, row_group_size=8)
frame.write_parquet(folder / "polars_bare.parquet", statistics=False, row_group_size=8)
frame.write_parquet(folder / "polars_pages.parquet", data_page_size=16)

table = frame.to_arrow().cast(
    pa.schema([
        ("sample_index", pa.int32()),
        ("response_length", pa.int32()),
        ("tokens", pa.list_(pa.int32())),
        ("loss_mask", pa.list_(pa.int8())),
        ("rollout_log_probs", pa.list_(pa.float32())),
        ("status", pa.string()),
        ("done", pa.bool_()),
        ("reward", pa.float32()),
        ("time", pa.float64()),
        ("versions", pa.list_(pa.string())),
    ])
)
for codec in ("zstd", "snappy", "none", "gzip", "lz4", "brotli"):
    pq.write_table(table, folder / f"pyarrow_{codec}.parquet", compression=codec, row_group_size=8)
pq.write_table(table, folder / "pyarrow_v2.parquet", data_page_version="2.0", row_group_size=3)
pq.write_table(table, folder / "pyarrow_plain.parquet", use_dictionary=False, write_statistics=False, data_page_size=64)
pq.write_table(table, folder / "pyarrow_item.parquet", use_compliant_nested_type=False)
pq.write_table(table, folder / "pyarrow_small_pages.parquet", data_page_size=1, write_batch_size=3, write_page_index=True)
split = {"tokens.list.element": "DELTA_BINARY_PACKED", "reward": "BYTE_STREAM_SPLIT", "time": "BYTE_STREAM_SPLIT"}
pq.write_table(table, folder / "pyarrow_encodings.parquet", use_dictionary=False, column_encoding=split)

wide = table.schema
wide = wide.set(0, pa.field("sample_index", pa.int64(), nullable=False))
wide = wide.set(1, pa.field("response_length", pa.int16()))
wide = wide.set(2, pa.field("tokens", pa.large_list(pa.int64()), nullable=False))
wide = wide.set(3, pa.field("loss_mask", pa.list_(pa.int32())))
wide = wide.set(5, pa.field("status", pa.large_string()))
pq.write_table(table.cast(wide), folder / "pyarrow_wide.parquet", row_group_size=16)

delta = {"status": "DELTA_BYTE_ARRAY"}
pq.write_table(table, folder / "delta_text.parquet", use_dictionary=False, column_encoding=delta)
print("polars", pl.__version__, "pyarrow", pa.__version__)

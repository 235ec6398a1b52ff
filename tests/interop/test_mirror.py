"""dashboard_columns as polars and pyarrow write it is read by `miles-dump tokens`, or passed over for the .pt: the values are the same."""

import json
import shutil

import polars as pl
import pyarrow.parquet as pq
import pytest
import torch
from conftest import expected, rows, tool
from values import SUMS, same

RUN = "data_parallel"


def token_rows(run, *args):
    return rows("miles-dump", "tokens", *args, run=run)


@pytest.mark.parametrize("evaluation", [False, True], ids=["train", "eval"])
def test_tokens_are_the_same_with_and_without_the_mirror(evaluation, copy_run):
    run, flags = copy_run(RUN), ["--eval"] if evaluation else []
    indices = expected(RUN)["eval" if evaluation else "train"]["1"]["summary"]["rows"]
    with_mirror = [token_rows(run, 1, r["sample_index"], *flags) for r in indices]
    shutil.rmtree(run / "dashboard_columns")
    without = [token_rows(run, 1, r["sample_index"], *flags) for r in indices]
    same(with_mirror, without)


@pytest.mark.parametrize("compression", ["zstd", "snappy", "uncompressed", "gzip", "lz4"])
def test_every_compression_gives_the_same_tokens(compression, copy_run):
    run = copy_run(RUN)
    path = run / "dashboard_columns" / "rollout_eval_1.parquet"
    want = token_rows(run, 1, 0, "--eval")
    pl.read_parquet(path).write_parquet(path, compression=compression, row_group_size=8)
    same(token_rows(run, 1, 0, "--eval"), want)


def test_a_mirror_rewritten_by_pyarrow_gives_the_same_tokens(copy_run):
    run = copy_run(RUN)
    path = run / "dashboard_columns" / "rollout_eval_1.parquet"
    want = token_rows(run, 1, 3, "--eval")
    pq.write_table(pq.read_table(path), path, row_group_size=3, data_page_version="2.0")
    same(token_rows(run, 1, 3, "--eval"), want)


def test_a_mirror_without_a_row_for_the_sample_falls_back_to_the_pt(copy_run):
    run = copy_run(RUN)
    path = run / "dashboard_columns" / "rollout_eval_1.parquet"
    want = token_rows(run, 1, 2, "--eval")
    frame = pl.read_parquet(path)
    frame.filter(pl.col("sample_index") != 2).write_parquet(path)
    same(token_rows(run, 1, 2, "--eval"), want)
    path.write_bytes(b"PAR1 and then nothing that is Parquet")
    same(token_rows(run, 1, 2, "--eval"), want)


def test_tokens_say_what_torch_reads_from_the_pt(copy_run):
    run = copy_run(RUN)
    samples = torch.load(run / "rollout_data" / "eval_1.pt", weights_only=True)["samples"]
    for sample in samples:
        got = token_rows(run, 1, sample["index"], "--eval")
        prompt = len(sample["tokens"]) - sample["response_length"]
        assert [r["token_id"] for r in got] == sample["tokens"]
        assert [r["position"] for r in got] == list(range(len(got)))
        assert [r["response_position"] for r in got] == [None] * prompt + list(range(sample["response_length"]))
        same([r["rollout_log_prob"] for r in got], [None] * prompt + sample["rollout_log_probs"])
        assert [r["token_text"] for r in got] == [f"t{t}" for t in sample["tokens"]]


@pytest.mark.parametrize("key", list(expected(RUN)["train"]["0"]["tokens"]))
def test_the_object_form_is_the_recorded_answer(key, copy_run):
    index, *bounds = key.split()
    options = ["--start", bounds[0], "--end", bounds[1]] if bounds else []
    got = json.loads(tool("miles-dump", "tokens", 0, index, *options, "--object", run=copy_run(RUN)))
    want = expected(RUN)["train"]["0"]["tokens"][key]
    same({name: got.get(name) for name in want}, want, **SUMS)

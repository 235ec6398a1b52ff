"""A run that `miles demo` writes is one that the job's own readers load: real torch and polars."""

import json

import polars as pl
import pytest
import torch
from conftest import rows, tool
from reference import Step
from values import SUMS, same

SAMPLE_KEYS = {"group_index", "index", "prompt", "tokens", "response", "response_length", "reward", "loss_mask", "weight_versions",
               "rollout_log_probs", "remove_sample", "status", "non_generation_time", "spec_info", "prefix_cache_info"}  # fmt: skip
MIRROR = {"sample_index": pl.Int32, "response_length": pl.Int32, "total_length": pl.Int32, "tokens": pl.List(pl.Int32),
          "loss_mask": pl.List(pl.Int8), "rollout_log_probs": pl.List(pl.Float32)}  # fmt: skip


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    run = tmp_path_factory.mktemp("demo") / "run"
    tool("miles", "demo", run, "--steps", 2, "--prompts", 3, "--samples-per-prompt", 4, "--max-response", 256, "--seed", 7)
    return run


def rollout_files(run):
    files = sorted((run / "rollout_data").glob("*.pt"))
    assert files
    return files


def test_rollout_files_load_in_torch_with_weights_only(demo):
    for path in rollout_files(demo):
        record = torch.load(path, weights_only=True)
        assert record["rollout_id"] == int(path.stem.removeprefix("eval_"))
        assert record["samples"]
        for sample in record["samples"]:
            assert SAMPLE_KEYS <= set(sample)
            assert len(sample["tokens"]) >= sample["response_length"] > 0
            for name in ("loss_mask", "rollout_log_probs"):
                assert sample[name] is None or len(sample[name]) == sample["response_length"]


def test_train_files_load_in_torch_with_weights_only(demo):
    files = sorted((demo / "train_data").glob("*.pt"))
    assert files
    for path in files:
        rid, rank = map(int, path.stem.split("_"))
        record = torch.load(path, map_location="cpu", weights_only=True)
        assert (record["rollout_id"], record["rank"]) == (rid, rank)
        columns = record["rollout_data"]
        count = len(columns["sample_indices"])
        known = {s["index"] for s in torch.load(demo / "rollout_data" / f"{rid}.pt", weights_only=True)["samples"]}
        assert set(columns["sample_indices"]) <= known
        assert len(columns["raw_reward"]) == len(known)
        for name, values in columns.items():
            if name != "raw_reward":
                assert len(values) == count, name
        for tokens, total in zip(columns["tokens"], columns["total_lengths"]):
            assert tokens.dtype == torch.int64 and len(tokens) == total
        for mask, response in zip(columns["loss_masks"], columns["response_lengths"]):
            assert mask.dtype == torch.int32 and len(mask) == response


def test_the_mirror_opens_in_polars_and_says_what_the_rollout_file_says(demo):
    for path in rollout_files(demo):
        samples = torch.load(path, weights_only=True)["samples"]
        name = path.stem.replace("eval_", "rollout_eval_") if path.stem.startswith("eval_") else f"rollout_{path.stem}"
        frame = pl.read_parquet(demo / "dashboard_columns" / f"{name}.parquet")
        assert dict(frame.schema) == MIRROR
        assert frame["sample_index"].to_list() == [s["index"] for s in samples]
        for row, sample in zip(frame.iter_rows(named=True), samples):
            assert row["tokens"] == sample["tokens"] and row["loss_mask"] == sample["loss_mask"]
            same(row["rollout_log_probs"], sample["rollout_log_probs"])


def test_conversations_are_json_lines_of_known_samples(demo):
    for path in sorted((demo / "trajectory").glob("*.jsonl")):
        known = {s["index"] for s in torch.load(demo / "rollout_data" / f"{path.stem}.pt", weights_only=True)["samples"]}
        for line in path.read_text().splitlines():
            record = json.loads(line)
            assert record["sample_index"] in known
            assert all({"role", "content"} <= set(m) for m in record["messages"])


def test_the_reference_reads_a_demo_run_as_miles_dump_does(demo):
    for rid in (0, 1):
        want, got = Step(demo, rid).summary(), rows("miles-dump", "summary", rid, run=demo)
        assert [r["sample_index"] for r in got] == [r["sample_index"] for r in want]
        for w, g in zip(want, got):
            same({name: g.get(name) for name in w}, w, **SUMS)

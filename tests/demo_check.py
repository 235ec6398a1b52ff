"""Checks a demo run with torch and polars; prints sums of each rollout file for tests/demo.rs to compare."""

import json
import sys
from pathlib import Path

import polars as pl
import torch

RUN = Path(sys.argv[1])
SCHEMA = pl.Schema(
    {
        "sample_index": pl.Int32,
        "response_length": pl.Int32,
        "total_length": pl.Int32,
        "tokens": pl.List(pl.Int32),
        "loss_mask": pl.List(pl.Int8),
        "rollout_log_probs": pl.List(pl.Float32),
    }
)
COMPUTED = ["log_probs", "ref_log_probs", "advantages", "returns", "entropy", "ref_entropy"]
SAMPLE_KEYS = set(
    "group_index index rollout_id prompt tokens multimodal_inputs multimodal_train_inputs response response_length "
    "label reward loss_mask weight_versions rollout_log_probs rollout_routed_experts rollout_indexer_topk "
    "remove_sample teacher_log_probs opd_reverse_kl status metadata train_metadata adapter reward_spec "
    "non_generation_time spec_info prefix_cache_info".split()
)


def held(context, size, total, response):
    """Response positions that a context-parallel rank holds."""
    if size == 1:
        return list(range(response))
    prompt, chunk = total - response, -(-total // (2 * size))
    positions = []
    for c in (context, 2 * size - 1 - context):
        positions += [p - (prompt - 1) for p in range(max(c * chunk, prompt - 1), min((c + 1) * chunk, total - 1))]
    return positions


def check_train(path, samples):
    shard = torch.load(path, weights_only=True)
    columns = shard["rollout_data"]
    assert len(columns["raw_reward"]) == len(samples), path
    for row, index in enumerate(columns["sample_indices"]):
        sample = samples[index]
        length = sample["response_length"]
        mask = sample["loss_mask"] or [1] * length
        mask = [0] * length if sample["remove_sample"] else mask
        assert columns["tokens"][row].dtype == torch.int64 and columns["tokens"][row].tolist() == sample["tokens"], path
        assert columns["loss_masks"][row].dtype == torch.int32 and columns["loss_masks"][row].tolist() == mask, path
        assert columns["total_lengths"][row] == len(sample["tokens"]) and columns["response_lengths"][row] == length
        assert columns["weight_versions"][row] == sample["weight_versions"], path
        positions = held(shard["cp_rank"], shard["cp_size"], len(sample["tokens"]), length)
        want = [sample["rollout_log_probs"][p] for p in positions]
        assert columns["rollout_log_probs"][row].tolist() == want, path
        for name in COMPUTED:
            if name in columns:
                values = columns[name][row]
                assert values.dtype == torch.float32 and len(values) == len(positions), (path, name)
        if "entropy" in columns:
            assert (columns["entropy"][row] > 0).all() and (columns["log_probs"][row] <= 0).all(), path
    return set(columns["sample_indices"])


for path in sorted((RUN / "rollout_data").glob("*.pt")):
    samples = torch.load(path, weights_only=True)["samples"]
    mirror = pl.read_parquet(RUN / "dashboard_columns" / f"rollout_{path.stem}.parquet")
    assert mirror.schema == SCHEMA, mirror.schema
    assert mirror["sample_index"].to_list() == [s["index"] for s in samples]
    assert mirror["total_length"].to_list() == [len(s["tokens"]) for s in samples]
    for name in ["response_length", "tokens", "loss_mask", "rollout_log_probs"]:
        assert mirror[name].to_list() == [s[name] for s in samples], (path, name)
    assert all(SAMPLE_KEYS <= s.keys() for s in samples)
    if not path.stem.startswith("eval"):
        by_index = {s["index"]: s for s in samples}
        shards = sorted((RUN / "train_data").glob(f"{path.stem}_*.pt"))
        assert set().union(*(check_train(shard, by_index) for shard in shards)) == set(by_index)
    print(
        json.dumps(
            {
                "stem": path.stem,
                "tokens": sum(sum(s["tokens"]) for s in samples),
                "masks": sum(sum(s["loss_mask"] or []) for s in samples),
                "log_probs": sum(sum(s["rollout_log_probs"]) for s in samples),
            }
        )
    )

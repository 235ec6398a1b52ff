"""What of the run's arguments meta.json may hold."""

from __future__ import annotations

import argparse
import dataclasses
import math
import time
from pathlib import Path

import pytest
from conftest import Collector

from miles_telemetry import Telemetry
from miles_telemetry.arguments import curated

KEPT = {
    "colocate": True,
    "sglang_max_running_requests": 200,
    "sglang_mem_fraction_static": 0.75,
    "n_samples_per_prompt": 4,
    "rollout_max_response_len": 4096,
    "use_miles_router": False,
    "router_dp_aware": False,
    "router_policy": None,
    "sglang_router_policy": "cache_aware",
    "router_assignment_mode": None,
    "wandb_team": "team",
    "wandb_project": "proj",
    "wandb_run_id": "a1b2c3d4",
    "wandb_host": "https://wandb.example.com",
    "max_tokens_per_gpu": 9216,
    "input_key": "prompt",
    "hf_checkpoint": "/models/Qwen3-4B",
    "git_commit": "0123456789abcdef0123456789abcdef01234567",
    "tokenizer_path": "/models/tok",
}

SECRETS = {
    "wandb_key": "0123456789abcdef0123456789abcdef01234567",
    "wandb_api_key": "x",
    "WANDB_API_KEY": "x",
    "hf_token": "x",
    "HfToken": "x",
    "token": "x",
    "tokens": "a,b",
    "s3_secret": "x",
    "aws_secret_access_key": "x",
    "password": "x",
    "db_passwd": "x",
    "http_auth": "a:b",
    "authorization": "Basic x",
    "private_key": "x",
    "sshKey": "x",
    "credentials_file": "/root/.aws",
    "slack_webhook": "https://hooks/x",
    "innocent_1": "hf_abcdefghijklmnopqrstuvwxyz",
    "innocent_2": "see sk-proj-abcdefghijklmnopqrstuv for it",
    "innocent_3": "0123456789abcdef0123456789abcdef01234567",
    "innocent_4": "Authorization: Bearer abcdefghijk",
    "innocent_5": "https://host/path?x=1&api_key=abc",
    "innocent_6": "-----BEGIN OPENSSH PRIVATE KEY-----",
    "innocent_7": "ghp_abcdefghijklmnopqrstuvwxyz",
    "innocent_8": "AKIAABCDEFGHIJKLMNOP",
    "_private": 1,
}


def test_settings_are_kept_and_secrets_are_not() -> None:
    assert curated({**KEPT, **SECRETS}) == KEPT


@pytest.mark.parametrize("name", SECRETS)
def test_each_secret_is_left_out(name: str) -> None:
    assert curated({name: SECRETS[name]}) == {}


def test_only_scalars_are_kept() -> None:
    values = {"list": [1, 2], "dict": {"a": 1}, "fn": print, "nan": math.nan, "path": Path("/a/b"), "long": "x" * 5000, "n": 1}
    assert {k: v for k, v in curated(values).items() if k != "nan"} == {"path": "/a/b", "n": 1}


def test_a_url_loses_its_password() -> None:
    assert curated({"proxy": "http://me:hush@proxy:80/x"}) == {"proxy": "http://proxy:80/x"}


def test_namespaces_and_dataclasses_are_taken(telemetry: Telemetry, collector: Collector) -> None:
    @dataclasses.dataclass
    class Args:
        colocate: bool = True
        wandb_key: str = "x"
        limit: float = math.inf

    telemetry.run_args(argparse.Namespace(wandb_group="grpo-7", n=1))
    telemetry.run_args(Args(), run_name="mine")
    telemetry.run_args(Args())
    records = collector.wait_for(3)
    # An attempt starts once.
    assert abs(records[0].pop("start_ts") - time.time()) < 60
    assert records == [
        {"stream": "meta", "run_name": "grpo-7", "args": {"wandb_group": "grpo-7", "n": 1}},
        {"stream": "meta", "run_name": "mine", "args": {"colocate": True}},
        {"stream": "meta", "run_name": "miles-run", "args": {"colocate": True}},
    ]

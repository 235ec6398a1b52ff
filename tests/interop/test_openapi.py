"""What `miles serve` says of itself at /api/openapi.json is what it does: schemathesis asks thousands of right
and wrong questions, and a few answers are held against their schema here as well."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import jsonschema_rs
import pytest
from conftest import binary, tool

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    run = tmp_path_factory.mktemp("serve") / "run"
    tool("miles", "demo", run, "--steps", 3, "--prompts", 4, "--samples-per-prompt", 4, "--max-response", 256, "--gpus", 4, "--minutes", 12)
    command = [binary("miles"), "serve", "-d", run, "--host", "127.0.0.1", "--port", "0", "--quiet"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield run, process.stdout.readline().strip().rstrip("/")
    finally:
        process.terminate()
        assert process.wait(timeout=20) == 0


def get(url):
    with urllib.request.urlopen(url, timeout=60) as response:
        return json.load(response)


def test_the_server_does_what_its_description_says(server):
    _, url = server
    # The events never end.
    command = [
        Path(sys.executable).with_name("schemathesis"), "--config-file", HERE / "schemathesis.toml", "run", f"{url}/api/openapi.json",
        "--exclude-path", "/api/events", "--phases", "examples,coverage,fuzzing", "--max-examples", "60",
        "--generation-deterministic", "--request-timeout", "30", "--no-color",
    ]  # fmt: skip
    environment = {**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": str(server[0] / "hypothesis")}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=server[0], env=environment, timeout=600)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_answers_that_need_the_right_ids_fit_their_schema(server):
    run, url = server
    document = get(f"{url}/api/openapi.json")
    line = json.loads(next(run.glob("trajectory/[0-9]*.jsonl")).read_text().splitlines()[0])
    step = next(run.glob("trajectory/[0-9]*.jsonl")).stem
    start, end = get(f"{url}/api/meta")["time_range"]
    engine_metric = get(f"{url}/api/meta")["engine_metric_keys"][0]
    for path, schema, filled in [
        (f"/api/rollout/{step}/sample/{line['sample_index']}/messages", "Messages", lambda a: a["messages"]),
        (f"/api/rollout/{step}/sample/{line['sample_index']}/tokens", "Tokens", lambda a: a["token_text"]),
        (f"/api/rollout/{step}/trajectories", "Trajectories", lambda a: a["lanes"][0]["segments"]),
        (f"/api/timeline/phases?t0={start}&t1={end}", "Phases", lambda a: a["phases"]),
        (f"/api/timeline/gpu?t0={start}&t1={end}", "Gpu", lambda a: a["lanes"]),
        (f"/api/timeline/fleet?t0={start}&t1={end}", "Fleet", lambda a: a["composition"]),
        (f"/api/timeline/engine_series?metric={engine_metric}", "EngineSeries", lambda a: a["series"][0]["ts"]),
        ("/api/timeline/topology", "Topology", lambda a: a["windows"][0]["engines"]),
        ("/api/timeline/bubbles", "Bubbles", lambda a: a["bubbles"]),
        ("/api/timeline/outliers?criterion=lowest_util", "Outliers", lambda a: a["outliers"]),
        ("/api/advisory", "Advisory", lambda a: a["mfu"]),
    ]:
        answer = get(url + path)
        # The validator that schemathesis brings.
        described = {"$ref": f"#/components/schemas/{schema}", "components": document["components"]}
        jsonschema_rs.Draft202012Validator(described).validate(answer)
        assert filled(answer), f"{path} shows nothing"

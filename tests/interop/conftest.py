"""Shared by the interop tests: where the built tools are, and copies of the run fixtures that look old.

MILES_BIN_DIR names the folder of the built binaries (default: target/debug of this checkout).
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNS = ROOT / "tests" / "fixtures" / "runs"
# The fixtures hold Enum members and dataclasses of this module; torch.load needs it, our tools do not.
sys.path.insert(0, str(ROOT / "tests" / "fixtures"))


def binary(name):
    path = Path(os.environ.get("MILES_BIN_DIR", ROOT / "target" / "debug")) / name
    if not path.exists():
        pytest.fail(f"{path} is not built: run `cargo build` or set MILES_BIN_DIR")
    return path


def tool(name, *args, run=None):
    """Runs a tool to success and returns its standard output."""
    environment = {**os.environ, **({"MILES_DUMP_DETAILS": str(run)} if run else {})}
    done = subprocess.run([binary(name), *map(str, args)], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    assert done.returncode == 0, f"{name} {args} answered {done.returncode}: {done.stderr}"
    return done.stdout


def rows(name, *args, run=None):
    """A tool's NDJSON rows. Python's reader takes NaN, which strict JSON has not: refuse it."""

    def refuse(text):
        raise ValueError(f"not strict JSON: {text}")

    return [json.loads(line, parse_constant=refuse) for line in tool(name, *args, "--format", "ndjson", run=run).splitlines()]


@pytest.fixture
def copy_run(tmp_path):
    """Copies a run fixture and makes it look an hour old, so that nothing is taken for still being written."""

    def copy(name):
        target = tmp_path / name
        shutil.copytree(RUNS / name, target)
        an_hour_ago = time.time() - 3600
        for path in target.rglob("*"):
            os.utime(path, (an_hour_ago, an_hour_ago))
        return target

    return copy


def expected(name):
    return json.loads((RUNS / name / "expected.json").read_text())

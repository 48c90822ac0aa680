"""Trainings of frameworks that nobody here wrote, recorded by `msdbg dump`: nothing is lost, nothing healthy is called
wrong, a mistake is named by its line and rank, and the parameters have the bits of an unrecorded training.

A framework that is not installed is skipped; ./dev test torch installs them (250 MB). Those that torch brings need none.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import built
import pytest
import torch

HERE = Path(__file__).resolve().parent / "frameworks"
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
LEVELS = ("train", "modules", "ops")

# Script, the framework that it needs, how it is launched, iterations, iteration and rank of its mistake.
TRAININGS = [
    ("lightning_fit.py", "lightning", [], 12, 6, 0),
    ("transformers_trainer.py", "transformers", [], 10, 6, 0),
    ("accelerate_loop.py", "accelerate", TORCHRUN, 20, 7, 1),
    ("fsdp1.py", "torch", TORCHRUN, 10, 5, 1),
]

pytestmark = pytest.mark.skipif(bool(built.missing()), reason=built.missing() or "built")


def run(words: list[str], timeout: int = 300) -> Any:
    environment = dict(os.environ, OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", MSDBG_TRACEBACK="1")
    return subprocess.run(words, env=environment, text=True, timeout=timeout, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def trained(script: str, launcher: list[str], folder: Path, *more: str) -> list[str]:
    """The command of a training that writes into the folder."""
    folder.mkdir()
    return [sys.executable, *launcher, str(HERE / script), str(folder), *more]


def recorded(command: list[str], level: str, path: Path) -> str:
    done = run([built.MSDBG, "dump", "--level", level, "-o", str(path), "--", *command])
    assert done.returncode == 0, done.stdout
    assert "recording ended" not in done.stdout, done.stdout
    return done.stdout


def checked(path: Path, status: int) -> dict[str, Any]:
    done = subprocess.run([built.MSDBG, "check", "--json", str(path)], text=True, stdout=subprocess.PIPE)
    report = json.loads(done.stdout)
    assert done.returncode == status, json.dumps(report.get("first"), indent=1)
    return report


def described(path: Path) -> dict[str, Any]:
    return json.loads(subprocess.run([built.MSDBG, "info", "--json", str(path)], text=True, check=True,
                                     stdout=subprocess.PIPE).stdout)


def line_of_mistake(script: str) -> int:
    [line] = [n for n, text in enumerate((HERE / script).read_text().splitlines(), 1) if text.endswith("# WRONG")]
    return line


def needs(framework: str) -> None:
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")


@pytest.mark.parametrize("script, framework, launcher, iterations, at, rank", TRAININGS)
def test_a_healthy_training_is_whole_and_as_it_would_be(script: str, framework: str, launcher: list[str],
                                                        iterations: int, at: int, rank: int, tmp_path: Path) -> None:
    needs(framework)
    plain = run(trained(script, launcher, tmp_path / "plain"))
    assert plain.returncode == 0, plain.stdout
    expected = torch.load(tmp_path / "plain" / "parameters.pt")
    for level in LEVELS:
        path = tmp_path / f"{level}.msdbg"
        recorded(trained(script, launcher, tmp_path / level), level, path)
        checked(path, 0)
        ranks = described(path)["ranks"]
        assert [each["count"] for each in ranks] == [iterations] * (2 if launcher else 1), level
        found = torch.load(tmp_path / level / "parameters.pt")
        assert all(torch.equal(expected[name], found[name]) for name in expected), level


@pytest.mark.parametrize("script, framework, launcher, iterations, at, rank", TRAININGS)
def test_a_mistake_is_named_by_its_line_and_rank(script: str, framework: str, launcher: list[str], iterations: int,
                                                 at: int, rank: int, tmp_path: Path) -> None:
    needs(framework)
    path = tmp_path / "wrong.msdbg"
    recorded(trained(script, launcher, tmp_path / "wrong", "wrong"), "ops", path)
    first = checked(path, 3)["first"]
    assert (first["condition"], first["iteration"], first["rank"]) == ("nonfinite_propagation", at, rank)
    assert (Path(first["source"]["file"]).name, first["source"]["line"]) == (script, line_of_mistake(script))


@pytest.mark.parametrize("script, framework, name, iterations",
                         [("lightning_fit.py", "lightning", "val_loss", [5, 11]),
                          ("transformers_trainer.py", "transformers", "eval_loss", [3, 7, 9])])
def test_what_an_evaluation_finds_is_recorded(script: str, framework: str, name: str, iterations: list[int],
                                              tmp_path: Path) -> None:
    needs(framework)
    path = tmp_path / "run.msdbg"
    recorded(trained(script, [], tmp_path / "work"), "ops", path)
    [values] = [metric["values"] for metric in described(path)["metrics"] if metric["name"] == name]
    assert [value["iteration"] for value in values] == iterations
    assert all(0 < value["value"] < 10 for value in values)


def test_what_torchrun_starts_again_is_another_attempt(tmp_path: Path) -> None:
    path, again = tmp_path / "run.msdbg", tmp_path / "run-attempt2.msdbg"
    said = recorded(trained("elastic.py", [*TORCHRUN, "--max-restarts", "1"], tmp_path / "work"), "train", path)
    assert f"attempt 1 {path}: killed" in said and f"attempt 2 {again}" in said
    assert described(path)["end"]["state"] == "killed"
    assert described(again)["end"]["state"] == "finished"
    checked(again, 0)
    assert checked(path, 3)["first"]["condition"] == "run_failed"

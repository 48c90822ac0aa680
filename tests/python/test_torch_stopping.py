"""`--on-hit --stop-on-hit` ends a program of PyTorch, on all ranks after the same iteration."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import built
import pytest
from checked import PYTHON, TWO_RANKS, asked

_PROGRAM = """
import os, sys
import torch, torch.distributed as dist
from torch import nn
ranks = int(os.environ.get("WORLD_SIZE", 1))
rank = int(os.environ.get("RANK", 0))
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
if ranks > 1:
    dist.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
generator = torch.Generator().manual_seed(rank)
try:
    for i in range(400):
        x = torch.randn(16, 6, generator=generator)
        scale = torch.tensor(-1.0 if i == 12 and rank == ranks - 1 else 1.0)
        odd = torch.log(scale)
        loss = (model(x) ** 2).mean()
        if ranks == 1:
            loss = loss + 0 * odd
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert not os.path.exists(sys.argv[1]) or i < 30, "goes on"
finally:
    print("left after", i, flush=True)
"""


def _dumped(tmp_path: Any, launcher: Any, *options: str, program: str = _PROGRAM) -> Any:
    if built.missing():
        pytest.skip(built.missing())
    script, run = tmp_path / "train.py", tmp_path / "run.msdbg"
    script.write_text(program)
    return run, subprocess.run([built.MSDBG, "dump", *options, "-o", run, "--", *launcher, script, run],
                               env=dict(os.environ, OMP_NUM_THREADS="1", MSDBG_STRICT="1"), capture_output=True, text=True)


@pytest.mark.parametrize("level", ("train", "ops"))
def test_one_process_stops_after_the_hit_and_what_was_asked_for_after_it(level: str, tmp_path: Any) -> None:
    run, done = _dumped(tmp_path, PYTHON, "--level", level, "--on-hit", "nonfinite_propagation", "--after", "2",
                        "--stop-on-hit")
    assert done.returncode == 3, done.stderr
    assert "left after 14" in done.stdout and "(--stop-on-hit)" in done.stderr, done.stderr
    end = asked("info", run)["end"]
    assert (end["state"], end["iteration"], end["rank"]) == ("stopped", 12, 0)
    assert asked("check", run)["first"]["iteration"] == 12


def test_the_rank_without_a_hit_stops_after_the_same_iteration(tmp_path: Any) -> None:
    run, done = _dumped(tmp_path, TWO_RANKS, "--level", "ops", "--on-hit", "nonfinite_propagation", "--stop-on-hit")
    assert done.returncode == 3, done.stderr
    left = [line for line in done.stdout.splitlines() if "left after" in line]
    assert len(left) == 2 and left[0] == left[1], done.stdout
    end = asked("info", run)["end"]
    assert (end["state"], end["iteration"], end["rank"]) == ("stopped", 12, 1)


def test_of_hits_on_several_ranks_the_one_that_came_from_no_other_is_told(tmp_path: Any) -> None:
    run, done = _dumped(tmp_path, TWO_RANKS, "--level", "ops", "--on-hit", "nonfinite_propagation", "--stop-on-hit",
                        program=_PROGRAM.replace("if ranks == 1", "if True"))
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("training stops after") == 1, done.stderr
    end = asked("info", run)["end"]
    assert (end["iteration"], end["rank"], end["node"]) == (12, 1, "main/log-op1")


def test_without_a_hit_it_trains_to_its_end(tmp_path: Any) -> None:
    _, done = _dumped(tmp_path, PYTHON, "--level", "train", "--on-hit", "tensor_overflow:tensors=nothing*", "--stop-on-hit")
    assert "left after 30" in done.stdout, done.stderr  # where its own assertion ends it

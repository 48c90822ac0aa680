"""A job of two ranks that stands still: the watchdog says at which lines, `msdbg stacks` shows them, and it goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import built
import pytest

PROGRAM = """
import os, time, torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), 0.1)


def evaluate():
    while not os.path.exists("go"):
        time.sleep(0.1)  # for ever


for step in range(8):
    if dist.get_rank() == 1 and step == 5:
        evaluate()
    optimizer.zero_grad()
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
"""


def test_a_job_that_stands_still_says_where(tmp_path: Any) -> None:
    if built.missing():
        pytest.skip(built.missing())
    (tmp_path / "train.py").write_text(PROGRAM)
    command = [built.MSDBG, "dump", "--watchdog", "3", "-o", "run.msdbg", "--", sys.executable, "-m",
               "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]
    program = subprocess.Popen(command, cwd=tmp_path, env=dict(os.environ, OMP_NUM_THREADS="1"), text=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        found = stacks_of(tmp_path)
        (tmp_path / "go").touch()
        said = program.communicate(timeout=120)[1]
    finally:
        program.kill()
    assert program.returncode == 0, said
    assert "rank 1 is at train.py:1" in said and " in evaluate: " in said
    assert "rank 0 is at train.py:" in said and "backward()" in said
    places = [rank["place"] for rank in found["ranks"]]
    assert " in evaluate: " in places[1] and "backward()" in places[0]
    assert found["silent"] == ""


def stacks_of(tmp_path: Any) -> Any:
    """Of both ranks, once they stand where they will stay."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        done = subprocess.run([built.MSDBG, "stacks", "run.msdbg", "--json"], cwd=tmp_path, capture_output=True, text=True)
        found = json.loads(done.stdout) if done.returncode == 0 and done.stdout else {"ranks": []}
        if [rank["iteration"] for rank in found["ranks"]] == [5, 5] and "evaluate" in found["ranks"][1]["place"]:
            time.sleep(6)  # until the watchdog has spoken
            return found
        time.sleep(0.5)
    pytest.fail("the ranks did not come to iteration 5")

"""Four ranks in a mesh of two shards and two replicas: where each stands is recorded, and replicas are compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import built
import pytest
from checked import TWO_RANKS, recorded, said

PROGRAM = """
import sys, torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
try:
    from torch.distributed.fsdp import fully_shard
except ImportError:  # before 2.6
    from torch.distributed._composable.fsdp import fully_shard

dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicas", "shards"))
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))
fully_shard(model, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
torch.manual_seed(2 + dist.get_rank())
for step in range(4):
    optimizer.zero_grad()
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
    if sys.argv[1] == "wrong" and step == 1 and dist.get_rank() == 3:
        model[0].weight._local_tensor.detach().add_(0.01)
"""


FOUR_RANKS = (*TWO_RANKS[:-1], "4")
CLIPPED = PROGRAM.replace("    optimizer.step()\n", "    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)\n"
                          "    optimizer.step()\n", 1)


def test_the_norm_of_sharded_gradients_is_recorded(tmp_path: Any) -> None:
    """What a functional collective gives stays wrapped until somebody waits: it has no memory to be read."""
    run = recorded(tmp_path, CLIPPED, "right", launcher=FOUR_RANKS)
    assert asked(tmp_path, 0, "check")["first"] is None
    assert "update/main/all_reduce-op1" in said("search", run, "*all_reduce*")


GROUPS = """
import torch
import torch.distributed as dist
from torch import nn
dist.init_process_group("gloo")
rank = dist.get_rank()
nodes = [dist.new_group([0, 1]), dist.new_group([2, 3])]
rails = [dist.new_group([0, 2]), dist.new_group([1, 3])]
torch.manual_seed(1)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
torch.manual_seed(2 + rank)
for step in range(4):
    x = torch.randn(16, 8)
    optimizer.zero_grad()
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    for p in model.parameters():
        dist.all_reduce(p.grad, group=nodes[rank // 2])
        dist.all_reduce(p.grad, group=rails[rank % 2])
        p.grad /= 4
    optimizer.step()
    worst = loss.detach().clone()
    dist.all_reduce(worst, op=dist.ReduceOp.MAX)
    print(worst.item())
"""


def test_groups_and_other_reductions_than_sums_are_no_mismatch(tmp_path: Any) -> None:
    run = recorded(tmp_path, GROUPS, launcher=FOUR_RANKS)
    assert asked(tmp_path, 0, "check")["first"] is None
    assert len(json.loads(said("search", run, "allreduce_", "--json"))["nodes"]) >= 5


@pytest.mark.parametrize("wrong", [False, True])
def test_a_mesh(tmp_path: Any, wrong: bool) -> None:
    if built.missing():
        pytest.skip(built.missing())
    (tmp_path / "train.py").write_text(PROGRAM)
    program = subprocess.run([built.MSDBG, "dump", "-o", "run.msdbg", "--", sys.executable, "-m", "torch.distributed.run",
                              "--standalone", "--nproc-per-node", "4", "train.py", "wrong" if wrong else "right"],
                             cwd=tmp_path, env=dict(os.environ, OMP_NUM_THREADS="1"), text=True, capture_output=True)
    assert program.returncode == 0, program.stderr
    ranks = asked(tmp_path, 0, "info")["ranks"]
    assert [(r["mesh"]["replicas"], r["mesh"]["shards"]) for r in ranks] == [
        ({"index": rank // 2, "size": 2}, {"index": rank % 2, "size": 2}) for rank in range(4)]
    found = asked(tmp_path, 3 if wrong else 0, "check", "-w", "rank_divergence")
    assert found["evaluated"] > 0
    if wrong:
        assert found["first"]["iteration"] == 2
        assert "ranks 1,3 hold the same shards, and differ" in found["first"]["detail"]
        text = subprocess.run([built.MSDBG, "check", "run.msdbg"], cwd=tmp_path, capture_output=True, text=True).stdout
        assert "rank 1 (replicas 0/2, shards 1/2), iteration 2" in text


def asked(folder: Any, status: int, command: str, *words: str) -> Any:
    done = subprocess.run([built.MSDBG, command, "run.msdbg", *words, "--json"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout)

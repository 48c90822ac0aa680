"""DDP on two ranks: what is healthy, and gradients that nobody averaged."""

from __future__ import annotations

from typing import Any

from checked import TWO_RANKS, first_of

PROGRAM = """
import sys
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
torch.manual_seed(0)
net = DDP(nn.Sequential(nn.Conv2d(1, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(512, 4)))
called = net.module if sys.argv[1] == "bypassed" else net
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
torch.manual_seed(dist.get_rank())
kinds = torch.randn(4, 1, 8, 8)
dist.broadcast(kinds, 0)
for step in range(25):
    labels = torch.randint(0, 4, (32,))
    loss = F.cross_entropy(called(kinds[labels] + 0.1 * torch.randn(32, 1, 8, 8)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""


def test_a_bias_before_batch_norm_has_no_gradient_but_rounding_with_ddp_too(tmp_path: Any) -> None:
    assert first_of(tmp_path, PROGRAM, "healthy", launcher=TWO_RANKS) is None


def test_gradients_that_no_collective_averages_are_said_to_differ(tmp_path: Any) -> None:
    found = first_of(tmp_path, PROGRAM, "bypassed", launcher=TWO_RANKS)
    assert (found["condition"], found["iteration"], found["phase"]) == ("rank_divergence", 0, "update")
    assert "no collective averages it over the ranks" in found["detail"]
    assert "not its .module" in found["advice"]

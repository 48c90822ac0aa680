"""Programs that change their model between iterations: layers exchanged for adapters, weights pruned and made whole."""

from __future__ import annotations

from typing import Any

import pytest
from checked import asked, recorded

ADAPTED = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))

class LoRA(nn.Module):
    def __init__(self, layer, rank=4):
        super().__init__()
        self.layer = layer
        self.A = nn.Parameter(torch.randn(layer.in_features, rank) * 0.02)
        self.B = nn.Parameter(torch.zeros(rank, layer.out_features))

    def forward(self, x):
        return self.layer(x) + 2 * (x @ self.A) @ self.B

def train():
    optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], 1e-2)
    for step in range(6):
        x = torch.randn(32, 8)
        loss = nn.functional.cross_entropy(net(x), x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

train()
net.requires_grad_(False)
net[2] = LoRA(net[2])  # in the place of what an optimizer had: its parameters are others, of the same place
train()
"""
PRUNED = """
import torch
from torch import nn
from torch.nn.utils import prune

class Scaled(nn.Module):  # reads the weight through detach() first, as quantisation does
    def __init__(self, wide, out):
        super().__init__()
        self.inner = nn.Linear(wide, out)

    def forward(self, x):
        largest = self.inner.weight.detach().abs().max()
        return self.inner(x / largest)

torch.manual_seed(0)
net = nn.Sequential(Scaled(8, 32), nn.ReLU(), nn.Linear(32, 4))

def train():
    optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    for step in range(4):
        x = torch.randn(32, 8)
        loss = nn.functional.cross_entropy(net(x), x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

train()
prune.l1_unstructured(net[0].inner, "weight", amount=0.5)
train()
prune.remove(net[0].inner, "weight")  # weight.data is another storage from here on
train()
"""


@pytest.mark.parametrize("level", ["train", "modules", "ops"])
@pytest.mark.parametrize("program", [ADAPTED, PRUNED], ids=["adapted", "pruned"])
def test_a_model_that_is_changed_between_iterations_is_healthy(tmp_path: Any, program: str, level: str) -> None:
    run = recorded(tmp_path, program, level=level)
    report = asked("check", run)
    assert report["first"] is None
    assert not [hint for hint in report["hints"] if hint["condition"] == "no_gradient"]


@pytest.mark.parametrize("level", ["train", "ops"])
def test_a_layer_that_is_new_reads_its_parameters_and_not_what_drew_them(tmp_path: Any, level: str) -> None:
    run = recorded(tmp_path, ADAPTED, level=level)
    for name in ("A", "B"):
        (tensor,) = asked("stats", run, "--tensor", f"Sequential/2/{name}")["tensors"]
        assert [row["iteration"] for row in tensor["rows"] if row["statistics"]] == list(range(6, 12))


STAGES = """
import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(8, 32), nn.Linear(32, 4)

def stage(parameters, loss_of, steps):
    optimizer = torch.optim.SGD(parameters, 0.05)
    for step in range(steps):
        x = torch.randn(32, 8)
        loss = loss_of(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

stage(body.parameters(), lambda x: ((body(x)[:, :8] - x) ** 2).mean(), 5)
for parameter in body.parameters():
    parameter.requires_grad_(False)
stage(head.parameters(), lambda x: nn.functional.cross_entropy(head(body(x)), x[:, :4].argmax(1)) + 100, 5)
"""


@pytest.mark.parametrize("level", ["train", "ops"])
def test_the_loss_of_a_second_stage_is_the_one_that_a_run_ends_with(tmp_path: Any, level: str) -> None:
    (rank,) = asked("info", recorded(tmp_path, STAGES, level=level))["ranks"]
    assert 0 < rank["first_loss"] < 50
    assert 100 < rank["last_loss"] < 150

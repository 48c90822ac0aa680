"""Parameters that are not trained: a target network's and a teacher's are right so, those that an optimizer was given
and never finds a gradient of are told."""

from __future__ import annotations

from typing import Any

import pytest
from checked import asked, first_of, recorded

TARGET = """
import copy
import torch
from torch import nn

torch.manual_seed(3)
net = nn.Sequential(nn.Linear(5, 24), nn.SiLU(), nn.Linear(24, 3))
target = copy.deepcopy(net)  # stays in train mode, and requires gradients: nobody needs to say otherwise
optimizer = torch.optim.NAdam(net.parameters(), 3e-3)
for step in range(12):
    s = torch.randn(32, 5)
    with torch.no_grad():
        wanted = s[:, :1] * 0.5 + 0.9 * target(s + 0.1 * torch.randn(32, 5)).max(1, keepdim=True).values
    loss = nn.functional.smooth_l1_loss(net(s).gather(1, s[:, :3].argmax(1, keepdim=True)), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 6 == 5:
        target.load_state_dict(net.state_dict())
"""
UNTRAINED = """
import sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.unused, self.head = nn.Linear(8, 32), nn.Linear(32, 32), nn.Linear(32, 4)

    def forward(self, x):
        if WAY == "cut":
            with torch.no_grad():
                x = self.unused(torch.relu(self.encoder(x)))
        else:
            x = torch.relu(self.encoder(x))
        return self.head(x)

WAY = sys.argv[1]
torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam([{"params": net.head.parameters()}] if WAY == "added" else net.parameters(), 1e-2)
if WAY == "added":
    optimizer.add_param_group({"params": [*net.encoder.parameters(), *net.unused.parameters()]})
for step in range(6):
    x = torch.randn(32, 8)
    loss = nn.functional.cross_entropy(net(x), x[:, :4].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("iterations", ["0-3", "4-6", "7-9"])
def test_a_target_network_is_no_fault_whichever_iterations_are_recorded(tmp_path: Any, iterations: str) -> None:
    report = asked("check", recorded(tmp_path, TARGET, options=("--iterations", iterations)))
    assert report["first"] is None
    assert not [hint for hint in report["hints"] if hint["condition"] == "no_gradient"]


@pytest.mark.parametrize("way, level", [("unused", "train"), ("added", "train"), ("unused", "modules"), ("unused", "ops")])
def test_a_layer_that_is_never_used_is_a_hint_at_every_level(tmp_path: Any, way: str, level: str) -> None:
    report = asked("check", recorded(tmp_path, UNTRAINED, way, level=level))
    assert report["first"] is None
    (hint,) = [hint for hint in report["hints"] if hint["condition"] == "no_gradient"]
    assert "Net/unused/weight and 1 more parameter, up to Net/unused/bias" in hint["detail"]
    assert "in any recorded iteration" in hint["detail"]


def test_layers_under_no_grad_by_mistake_are_a_hint_at_train(tmp_path: Any) -> None:
    (hint,) = asked("check", recorded(tmp_path, UNTRAINED, "cut", level="train"))["hints"]
    assert "Net/encoder/weight and 3 more parameters" in hint["detail"]


def test_layers_under_no_grad_by_mistake_are_a_fault_at_ops(tmp_path: Any) -> None:
    first = first_of(tmp_path, UNTRAINED, "cut")
    assert first["condition"] == "no_gradient" and first["tensor"].startswith("Net/encoder/addmm-op1")

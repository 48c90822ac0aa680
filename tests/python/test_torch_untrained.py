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


FROZEN = """
import sys
import torch
from torch import nn

WAY = sys.argv[1]
torch.manual_seed(0)
net = nn.Sequential(nn.Sequential(nn.Linear(8, 16), nn.ReLU()), nn.Linear(16, 4))
if WAY == "parameter":
    for p in net[0].parameters():
        p.require_grad = False
elif WAY == "module":
    net[0].requires_grad = False
else:
    net[0].requires_grad = False  # kept as a setting of its own
    net[0].requires_grad_(False)
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], 0.1)
for step in range(4):
    x = torch.randn(32, 8)
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), x[:, :4].argmax(1)).backward()
    optimizer.step()
"""
FAILS = """
import torch
from torch import nn

net = nn.Embedding(10, 4)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for ids in (torch.tensor([3, 10]),):
    net(ids).sum().backward()  # LINE
    optimizer.step()
"""


@pytest.mark.parametrize("level", ["train", "ops"])
@pytest.mark.parametrize("way, of", [("parameter", "Sequential/0/0/weight"), ("module", "Sequential/0"), ("right", "")])
def test_what_was_to_be_frozen_by_an_attribute_of_another_name(way: str, of: str, level: str, tmp_path: Any) -> None:
    first = asked("check", recorded(tmp_path, FROZEN, way, level=level))["first"]
    if not of:
        assert first is None
        return
    assert first["condition"] == "no_gradient" and first["detail"].startswith(f"{of} was given an attribute")


@pytest.mark.parametrize("level", ["train", "modules", "ops"])
def test_an_exception_in_the_first_forward_pass_has_its_line(level: str, tmp_path: Any) -> None:
    first = asked("check", recorded(tmp_path, FAILS, level=level, fails=True))["first"]
    assert first["condition"] == "run_failed" and "index out of range" in first["detail"]
    assert first["source"]["line"] == 8 and "ids begin at 1" in first["advice"]

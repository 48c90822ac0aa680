"""What happens to weights and gradients between the steps: overwritten, never set to zero, changed on one rank; and what
looks like a mistake and is none. Recorded as a user does."""

from __future__ import annotations

from typing import Any

import pytest
from checked import PYTHON, TWO_RANKS, asked, recorded, said

_DDP = """
import os, torch, torch.distributed as dist
from torch import nn
dist.init_process_group("gloo")
rank = dist.get_rank()
"""

_OVERWRITTEN = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for i in range(20):
    x = torch.randn(16, 6)
    if i == 12:
        model[2].weight.data.normal_()  # HERE
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_weight_that_is_overwritten_once_is_a_hint_where_nobody_sees_by_what(tmp_path: Any) -> None:
    report = asked("check", recorded(tmp_path, _OVERWRITTEN, level="train"))
    assert report["first"] is None
    (hint,) = report["hints"]
    assert hint["condition"] == "weight_overwritten" and hint["iteration"] == 12
    assert hint["tensor"].startswith("Sequential/2/weight")


@pytest.mark.parametrize("change", ("normal_()", "mul_(1.2)"))
def test_what_overwrites_a_weight_is_named_with_its_line(change: str, tmp_path: Any) -> None:
    report = asked("check", recorded(tmp_path, _OVERWRITTEN.replace("normal_()", change)))
    assert report["first"] is None
    (hint,) = report["hints"]
    assert hint["condition"] == "weight_overwritten" and "Sequential/2/weight" in hint["detail"]
    assert (hint["iteration"], hint["source"]["line"]) == (12, 10)


def test_a_state_that_is_loaded_is_no_step(tmp_path: Any) -> None:
    program = _OVERWRITTEN.replace("model[2].weight.data.normal_()", "model.load_state_dict(begin)")
    program = program.replace("optimizer =", "import copy\nbegin = copy.deepcopy(model.state_dict())\noptimizer =")
    program = program.replace("1e-3", "1.0")  # a search for the rate: it diverges, and begins anew
    report = asked("check", recorded(tmp_path, program))
    assert not [hit for hit in report["hits"] + report["hints"] if hit["iteration"] == 12], report


def test_diff_says_what_was_read_instead(tmp_path: Any) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    good = recorded(tmp_path / "a", _OVERWRITTEN.replace("i == 12", "i < 0"))
    text = said("diff", good, recorded(tmp_path / "b", _OVERWRITTEN))
    assert "B reads main/normal_-op1 instead of Sequential/2/weight" in text, text
    assert "train.py:10" in text and "it begins here" not in text


_ONE_RANK = _DDP + """
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1)))
optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
torch.manual_seed(10 + rank)
for i in range(14):
    x = torch.randn(16, 6)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    ZERO
    loss.backward()
    if i == 8 and rank == 1:
        CHANGE
    optimizer.step()
"""


@pytest.mark.parametrize("change", ("model.module[2].weight.data.mul_(1.5)", "model.module[2].weight.grad.mul_(3)"))
def test_the_rank_that_changes_something_alone_is_named_with_its_line(change: str, tmp_path: Any) -> None:
    program = _ONE_RANK.replace("CHANGE", change).replace("ZERO", "optimizer.zero_grad()")
    line = next(number for number, text in enumerate(program.splitlines(), 1) if change in text)
    first = asked("check", recorded(tmp_path, program, launcher=TWO_RANKS))["first"]
    assert (first["condition"], first["rank"], first["iteration"]) == ("rank_divergence", 1, 8)
    assert first["source"]["line"] == line and "which the other ranks do not compute" in first["detail"]


@pytest.mark.parametrize("level, launcher", (("train", TWO_RANKS), ("ops", TWO_RANKS), ("train", PYTHON)))
def test_gradients_that_nobody_sets_to_zero(level: str, launcher: Any, tmp_path: Any) -> None:
    program = _ONE_RANK.replace("CHANGE", "pass").replace("ZERO", "pass")
    if launcher == PYTHON:
        program = program.replace('dist.init_process_group("gloo")', "").replace("dist.get_rank()", "0")
        program = program.replace("nn.parallel.DistributedDataParallel", "")
    first = asked("check", recorded(tmp_path, program, level=level, launcher=launcher))["first"]
    assert first["condition"] == "weight_change_too_large" and first["iteration"] == 2
    assert "nobody sets gradients to zero" in first["detail"]


@pytest.mark.parametrize("seed, same", (("10", True), ("10 + rank", False)))
def test_ranks_that_make_the_same_data_in_their_loop(seed: str, same: bool, tmp_path: Any) -> None:
    program = _ONE_RANK.replace("CHANGE", "pass").replace("ZERO", "optimizer.zero_grad()").replace("10 + rank", seed)
    first = asked("check", recorded(tmp_path, program, launcher=TWO_RANKS))["first"]
    assert (first is not None) == same
    if same:
        assert first["condition"] == "same_batch" and "rank 1 read the same batch as rank 0" in first["detail"]


_ZEROED_IN_TIME = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.05)
for i in range(12):
    x = torch.randn(16, 6, requires_grad=True)
    loss = (model(x) - x.detach().sum(1, keepdim=True)).square().mean()
    if WAY == "attack":  # its gradients of the weights are dropped before the step's are computed
        loss.backward()
        x = (x + 0.01 * x.grad.sign()).detach()
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    if WAY == "data":
        for p in model.parameters():
            if p.grad is not None:
                p.grad.data.zero_()
    else:
        optimizer.zero_grad(set_to_none=WAY != "zeros")
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("way", ("attack", "data", "zeros"))
def test_gradients_that_are_zeroed_in_another_way_are_not_kept(way: str, tmp_path: Any) -> None:
    report = asked("check", recorded(tmp_path, f"WAY = {way!r}" + _ZEROED_IN_TIME, level="train"))
    assert report["first"] is None, report["first"]


_GATES = """
import torch
from torch import nn
torch.manual_seed(0)
class Residual(nn.Module):  # its last layer begins at zero
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(6, 8), nn.Linear(8, 6)
        nn.init.zeros_(self.two.weight), nn.init.zeros_(self.two.bias)
    def forward(self, x):
        return x + self.two(torch.tanh(self.one(x)))
class Adapted(nn.Module):  # LoRA: b begins at zero
    def __init__(self, base):
        super().__init__()
        self.base = base
        for p in base.parameters():
            p.requires_grad_(False)
        self.a, self.b = nn.Parameter(torch.randn(6, 2) * 0.1), nn.Parameter(torch.zeros(2, 1))
    def forward(self, x):
        return self.base(x) + x @ self.a @ self.b
body, head = nn.Sequential(Residual(), Residual()), Adapted(nn.Linear(6, 1))
optimizer = torch.optim.Adam([p for m in (body, head) for p in m.parameters() if p.requires_grad], 1e-2)
for i in range(20):
    x = torch.randn(16, 6)
    loss = (head(body(x)) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
_SCATTERED = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(6, 1)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for i in range(15):
    x, index = torch.randn(16, 6), torch.randint(0, 4, (16,))
    score = model(x).squeeze(1)
    top = torch.full((9,), float("-inf")).scatter_reduce(0, index, score, "amax", include_self=True)  # 5 are empty
    e = torch.exp(score - top[index].detach())
    share = e / torch.zeros(9).index_add(0, index, e)[index]
    loss = (torch.zeros(9).index_add(0, index, share * x.sum(1)) - x[:, 0].mean()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("program, level", ((_GATES, "modules"), (_GATES, "train"), (_SCATTERED, "ops")))
def test_what_begins_at_zero_and_empty_places_are_no_faults(program: str, level: str, tmp_path: Any) -> None:
    report = asked("check", recorded(tmp_path, program, level=level))
    assert report["first"] is None, report["first"]


_LOCAL = _DDP + """
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
torch.manual_seed(10 + rank)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for i in range(12):
    x = torch.randn(16, 6)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 3 == 2:
        with torch.no_grad():
            for p in model.parameters():
                dist.all_reduce(p.data)
                p.data /= 2
"""


def test_weights_that_are_averaged_now_and_then_differ_in_between(tmp_path: Any) -> None:
    report = asked("check", recorded(tmp_path, _LOCAL, launcher=TWO_RANKS))
    assert report["first"] is None, report["first"]


def test_a_rate_that_one_rank_lowers_is_named(tmp_path: Any) -> None:
    program = _ONE_RANK.replace("ZERO", "optimizer.zero_grad()").replace("CHANGE", "optimizer.param_groups[0]['lr'] = 0.005")
    first = asked("check", recorded(tmp_path, program, launcher=TWO_RANKS))["first"]
    assert (first["condition"], first["iteration"]) == ("rank_divergence", 8)
    assert "optimizer/learning_rate differs (0.05 on rank 0, 0.005 on rank 1)" in first["detail"]


_PAIRS = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(6, 11)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for i in range(15):  # all quantiles against all targets, as QR-DQN has it
    x = torch.randn(64, 6)
    p, y = model(x), x[:, :1] + torch.randn(64, 11)
    loss = (y[:, None, :] - p[:, :, None]).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_what_is_compared_all_with_all_on_purpose_is_no_broadcast_target(tmp_path: Any) -> None:
    assert asked("check", recorded(tmp_path, _PAIRS))["first"] is None


_AVERAGED = _OVERWRITTEN.replace("optimizer =", "import copy\nslow = copy.deepcopy(model)\noptimizer =").replace(
    "model[2].weight.data.normal_()  # HERE", "model.load_state_dict(slow.state_dict())").replace("1e-3", "3e-2").replace(
    "range(20)", "range(30)")


def test_averages_that_are_swapped_in_and_stay_are_a_hint(tmp_path: Any) -> None:
    hints = asked("check", recorded(tmp_path, _AVERAGED))["hints"]
    found = [hint for hint in hints if hint["condition"] == "weight_overwritten"]
    assert len(found) == 1 and found[0]["iteration"] == 12 and "the loss is higher since" in found[0]["detail"]


_SWAPPED = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
average = [p.detach().clone() for p in model.parameters()]

@torch.no_grad()
def give(values):
    for p, value in zip(model.parameters(), values):
        COPY

for i in range(30):
    x = torch.randn(64, 6)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for a, p in zip(average, model.parameters()):
            a.mul_(0.9).add_(p, alpha=0.1)
    if i % 10 == 9:
        kept = [p.detach().clone() for p in model.parameters()]
        give(average)
        model.eval()
        with torch.no_grad():
            model(torch.randn(8, 6)).sum().item()
        model.train()
        RESTORE
"""


@pytest.mark.parametrize("copy", ["p.copy_(value)", "p.data.copy_(value)"])
@pytest.mark.parametrize("restored", [True, False], ids=["restored", "left"])
def test_averages_that_are_swapped_in_for_an_evaluation_are_a_hint_where_they_stay(copy: str, restored: bool,
                                                                                 tmp_path: Any) -> None:
    program = _SWAPPED.replace("COPY", copy).replace("RESTORE", "give(kept)" if restored else "pass")
    report = asked("check", recorded(tmp_path, program, level="ops"))
    assert report["first"] is None
    found = [hint["detail"] for hint in report["hints"] if "running average of itself" in hint["detail"]]
    assert bool(found) != restored

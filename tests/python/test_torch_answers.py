"""What commands answer about programs of PyTorch that are built in another way than the scripts: stages, ranks, compiled
regions, operators on other lines, ends between two iterations. Needs torch and msdbg."""

from __future__ import annotations

from typing import Any

from checked import TWO_RANKS, asked, recorded, said

HEAD = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
X, Y = torch.randn(32, 8), torch.arange(32) % 4
"""
STEP = "optimizer.zero_grad(); loss.backward(); optimizer.step()\n"

STAGES = HEAD + f"""
teacher, student = nn.Linear(8, 4), nn.Linear(8, 4)
optimizer = torch.optim.Adam(teacher.parameters(), 0.01)
for _ in range(10):
    loss = F.cross_entropy(teacher(X), Y)
    {STEP}
first = optimizer
optimizer = torch.optim.SGD(student.parameters(), 0.1)
for _ in range(10):
    loss = F.cross_entropy(student(X), teacher(X).argmax(1))
    {STEP}
"""


def test_a_stage_that_follows_has_iterations_and_a_loss_of_its_own(tmp_path: Any) -> None:
    loss = asked("check", recorded(tmp_path, STAGES))["loss"]
    assert (loss["iterations"], loss["since"], loss["classes"]) == (10, 10, 4)
    assert loss["last"] < loss["first"] and 1.38 < loss["guessing"] < 1.39


LATE = HEAD + f"""
net = nn.Sequential(nn.Linear(8, 32), nn.Linear(32, 4))
optimizer = torch.optim.Adam(net.parameters(), 0.01)
for _ in range(4):
    loss = F.cross_entropy(net(X), Y)
    {STEP}
net.requires_grad_(False)
net[1].requires_grad_(True)
optimizer = torch.optim.AdamW(net.parameters(), 0.01)  # the second one
net.insert(1, nn.Linear(32, 32))
for _ in range(4):
    loss = F.cross_entropy(net(X), Y)
    {STEP}
"""


def test_a_layer_without_an_optimizer_points_at_the_one_of_its_stage(tmp_path: Any) -> None:
    report = asked("check", recorded(tmp_path, LATE))
    hits = [hit for hit in report["hits"] + report["hints"] if hit["condition"] == "no_gradient"]
    assert hits and all("the second one" in str(hit) for hit in hits)
    assert {hit["iteration"] for hit in hits} == {4}


COMPILED = HEAD + f"""
net = nn.Linear(8, 4)
call = torch.compile(net, backend="aot_eager")
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    loss = F.cross_entropy(call(X), Y)
    {STEP}
"""


def test_what_torch_compile_hides_is_said(tmp_path: Any) -> None:
    run = recorded(tmp_path, COMPILED)
    assert "not looked into: 1 region that torch.compile made" in said("check", run)
    assert asked("check", run)["compiled_regions"] == 1


TURNS = HEAD + f"""
net = nn.Linear(8, 4)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for i in range(4):
    if i % 2 == 0:
        played = X + 1  # plays
    loss = F.cross_entropy(net(X), Y)
    loss = loss + 0.1  # learns
    {STEP}
"""


def test_an_operator_of_one_name_is_another_node_on_another_line(tmp_path: Any) -> None:
    run = recorded(tmp_path, TURNS)
    lines = {part: [i for i, text in enumerate(TURNS.splitlines(), 1) if part in text][0] for part in ("# plays", "# learns")}
    for part, shape in (("# plays", [32, 8]), ("# learns", [])):
        nodes = [node for node in asked("search", run, f"train.py:{lines[part]}")["nodes"]
                 if node["op_type"] == "add" and node["phase"] == "forward"]
        assert nodes and all(node["tensors"][0]["shape"] == shape for node in nodes), nodes


RANKS = HEAD + f"""
import sys, torch.distributed as dist
dist.init_process_group("gloo")
net = nn.Linear(8, 4)
model = nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
x = X + dist.get_rank()
for _ in range(3):
    loss = F.cross_entropy((net if "bypassed" in sys.argv else model)(x), Y)
    {STEP}
dist.destroy_process_group()
"""


def test_ranks_are_compared_by_what_ddp_keeps_equal(tmp_path: Any) -> None:
    for name in ("equal", "bypassed"):
        (tmp_path / name).mkdir()
    text = said("diff", recorded(tmp_path / "equal", RANKS, launcher=TWO_RANKS), "--ranks", "0,1")
    assert "what should be equal on both is, in every bit" in text
    text = said("diff", recorded(tmp_path / "bypassed", RANKS, "bypassed", launcher=TWO_RANKS), "--ranks", "0,1")
    assert "they part in iteration 0 at update/Linear/SGD-op1" in text and "a recording with --policy full has them" in text


BETWEEN = HEAD + f"""
net = nn.Linear(8, 4)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for i in range(5):
    loss = F.cross_entropy(net(X), Y)
    {STEP}
    {{0: 0, 1: 1, 2: 2}}[i]
"""


def test_a_program_that_fails_between_two_iterations_is_not_told_to_record_deeper(tmp_path: Any) -> None:
    run = recorded(tmp_path, BETWEEN, level="train", fails=True)
    report = asked("check", run)
    assert "KeyError: 3" in report["first"]["detail"] and "deeper_command" not in report


_HOOKED = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.05)
def hook(module, inputs, outputs):
    return (inputs[0] * 2,)  # HERE
model[2].register_full_backward_hook(hook)
for i in range(3):
    loss = model(torch.randn(16, 6)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_line_of_a_hook_of_the_backward_pass_is_found(tmp_path: Any) -> None:
    assert "BackwardHookFunctionBackward/mul-op1" in said("search", recorded(tmp_path, _HOOKED), "train.py:8")

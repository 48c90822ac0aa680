"""Programs that change their parameters themselves: nothing says where an iteration ends."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import built
import pytest
from checked import asked, recorded

PROGRAM = """
import sys
import torch
from torch import nn
from torch.nn.functional import cross_entropy

WAY, SICK = sys.argv[1], 9
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
if WAY == "unused":
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(12):
    x = torch.randn(32, 8)
    halves = x.split(16) if WAY == "accumulated" else (x,)
    for half in halves:
        loss = cross_entropy(net(half), half[:, :4].argmax(1))
        if step == SICK:
            loss = loss * torch.zeros(()).log()  # SICK
        loss.backward()
    if WAY == "each":
        for p in net.parameters():
            with torch.no_grad():
                p -= 0.1 * p.grad
                p.grad = None
    elif WAY == "inside":
        for p in net.parameters():
            p.data.sub_(p.grad.data * 0.1)
            p.grad = None
    elif WAY == "never":  # the names are bound anew
        for p in net.parameters():
            p = p - 0.1 * p.grad
        net.zero_grad()
    elif WAY == "data":
        for p in net.parameters():
            p.data = p.data - 0.1 * p.grad
            p.grad = None
    else:
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
                p.grad = None
        with torch.no_grad():  # an evaluation
            net(torch.zeros(2, 8)).sum()
"""
NO_MODULE = """
import torch

torch.manual_seed(0)
w = torch.randn(8, 4, requires_grad=True)
for step in range(12):
    x = torch.randn(32, 8)
    scores = x @ w
    if step == 7:
        scores = scores / (scores - scores)  # SICK
    loss = torch.nn.functional.cross_entropy(scores, x[:, :4].argmax(1))
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()
"""


@pytest.mark.parametrize("level", ["train", "ops"])
@pytest.mark.parametrize("way", ["together", "each", "data", "inside", "accumulated"])
def test_iterations_end_where_the_program_changed_its_parameters(tmp_path: Any, way: str, level: str) -> None:
    first = asked("check", recorded(tmp_path, PROGRAM, way, level=level))["first"]
    assert first["condition"] == "nonfinite_propagation" and first["iteration"] == 9
    if level == "ops":
        assert first["source"]["line"] == 18
    (rank,) = asked("info", tmp_path / "run.msdbg")["ranks"]
    # What .data writes where all is NaN already leaves no trace: the steps after it are one.
    assert rank["iterations"] == ("0-10" if way == "inside" else "0-11")


def test_an_optimizer_that_never_steps_is_waited_for(tmp_path: Any) -> None:
    report = asked("check", recorded(tmp_path, PROGRAM, "unused", level="train"))
    assert report["first"]["iteration"] == 2  # the first eight steps are iteration 0
    (rank,) = asked("info", tmp_path / "run.msdbg")["ranks"]
    assert rank["iterations"] == "0-4"


def test_modules_are_recorded_too(tmp_path: Any) -> None:
    first = asked("check", recorded(tmp_path, PROGRAM, "together", level="modules"))["first"]
    assert first["tensor"].startswith("Sequential/loss-op1") and first["iteration"] == 9


@pytest.mark.parametrize("level", ["train", "modules"])
@pytest.mark.parametrize("way", ["together", "data", "accumulated"])
def test_gradients_and_what_became_of_the_weights_are_recorded(tmp_path: Any, way: str, level: str) -> None:
    run = recorded(tmp_path, PROGRAM, way, level=level)
    again = "#2" if way == "accumulated" else ""
    names = ("Sequential/0/weight", f"grad(Sequential/0/weight){again}", "update/Sequential/0/update-op1")
    weight, gradient, after = (asked("stats", run, "--tensor", name)["tensors"][0]["rows"] for name in names)
    for k in range(8):
        now, step = after[k]["statistics"], gradient[k]["statistics"]
        assert now["hash"] == weight[k + 1]["statistics"]["hash"]
        assert now["change"]["mean_abs"] == pytest.approx(0.1 * step["mean_abs"], rel=1e-4)


def test_parameters_that_no_module_has(tmp_path: Any) -> None:
    run = recorded(tmp_path, NO_MODULE)
    first = asked("check", run)["first"]
    assert first["iteration"] == 7 and first["tensor"].startswith("main/div-op1") and first["source"]["line"] == 10
    (tensor,) = asked("stats", run, "--tensor", "main/parameter0")["tensors"]
    assert tensor["role"] == "parameter" and tensor["rows"][11]["statistics"]["nan"] == 32


def test_of_steps_that_nobody_sees_check_says_so(tmp_path: Any) -> None:
    program = NO_MODULE.replace("with torch.no_grad():", "if False:").replace("if step == 7", "if False")
    run = recorded(tmp_path, program)
    done = subprocess.run([built.MSDBG, "check", run], capture_output=True, text=True)
    assert done.returncode == 4 and "no iteration was recorded whole" in done.stderr
    document = subprocess.run([built.MSDBG, "check", run, "--json"], capture_output=True, text=True)
    assert document.returncode == 4 and "no iteration was recorded whole" in json.loads(document.stdout)["verdict"]["text"]


@pytest.mark.parametrize("level", ["train", "modules", "ops"])
@pytest.mark.parametrize("says", [False, True])
def test_of_parameters_that_nothing_changes_check_says_so(tmp_path: Any, says: bool, level: str) -> None:
    program = PROGRAM.replace("if step == SICK:", "if False:")
    if says:
        program = program.replace("    x = torch", "    msdbg.step(step)\n    x = torch").replace("import sys", "import sys, msdbg")
    report = asked("check", recorded(tmp_path, program, "never", level=level))
    if says and level == "ops":  # the operator that reads a parameter and is read by nothing comes before the fourth pass
        assert report["first"]["condition"] == "result_unused" and report["first"]["source"]["line"] == 32
    else:
        assert report["first"]["condition"] == "weight_not_changed"
        assert report["first"]["tensor"].startswith("update/Sequential/")
    (rank,) = asked("info", tmp_path / "run.msdbg")["ranks"]
    assert int(rank["iterations"].split("-")[1]) >= (11 if says else 8)


def test_gradients_that_nobody_clears_are_no_iteration(tmp_path: Any) -> None:
    """An accumulation that goes on."""
    program = PROGRAM.replace("if step == SICK:", "if False:").replace("net.zero_grad()", "pass")
    run = recorded(tmp_path, program, "never", level="train")
    assert subprocess.run([built.MSDBG, "check", run], capture_output=True, text=True).returncode == 4

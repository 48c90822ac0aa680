"""Values that something else than torch's operators wrote: `check` names who read them last and first, not the reader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import built
import pytest

PROGRAM = """
import ctypes, sys
import torch
import torch.nn.functional as F
from torch import nn

WHERE, AT = sys.argv[1], int(sys.argv[2])


def kernel(tensor):  # as one that torch knows nothing of
    ctypes.c_float.from_address(tensor.data_ptr() + 4).value = float("nan")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x):
        hidden = torch.tanh(self.first(x))
        if WHERE == "activation" and step == AT:
            kernel(hidden)
        if WHERE == "masked":
            hidden = torch.softmax(hidden.masked_fill(hidden < -0.2, float("-inf")), 1)
        return self.second(hidden)


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.OPTIMIZER(model.parameters(), lr=0.01)
for step in range(6):
    x, y = torch.randn(5, 6), torch.randint(0, 3, (5,))
    if WHERE == "parameter" and step == AT:
        kernel(model.second.weight)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    if WHERE == "gradient" and step == AT:
        kernel(model.second.weight.grad)
    optimizer.step()
"""
READER = {"activation": ("Net/second/written_outside-op1:0", "Net/tanh-op1"),
          "parameter": ("Net/second/written_outside-op1:0", "Net/second/weight"),
          "gradient": ("update/Net/second/written_outside-op1:0", "grad/Net/second/AccumulateGrad-op1")}


def first(tmp_path: Any, where: str, at: int, optimizer: str) -> Any:
    if built.missing():
        pytest.skip(built.missing())
    script, run = tmp_path / "train.py", tmp_path / "run.msdbg"
    script.write_text(PROGRAM.replace("OPTIMIZER", optimizer))
    environment = dict(os.environ, OMP_NUM_THREADS="1", MSDBG_STRICT="1")
    subprocess.run([built.MSDBG, "dump", "--level", "ops", "-o", run, "--", sys.executable, script, where, str(at)],
                   env=environment, check=True, capture_output=True)
    done = subprocess.run([built.MSDBG, "check", "--json", run], capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)["first"]


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("at", [0, 4])  # told by Python, by the extension
@pytest.mark.parametrize("where", sorted(READER))
def test_what_was_written_outside_is_found_and_its_reader_is_not_blamed(tmp_path: Any, where: str, at: int,
                                                                         optimizer: str) -> None:
    if where == "parameter" and at == 0:
        pytest.skip("nobody has looked at it before")
    found = first(tmp_path, where, at, optimizer)
    assert (found["condition"], found["iteration"], found["tensor"]) == ("nonfinite_propagation", at, READER[where][0])
    assert READER[where][1] in found["detail"] and "no operator of torch wrote" in found["detail"]


def test_infinities_that_an_operator_makes_itself_are_its_own(tmp_path: Any) -> None:
    assert first(tmp_path, "masked", 0, "SGD") is None

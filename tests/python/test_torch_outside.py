"""Values that something else than torch's operators wrote: `check` names who read them last and first, not the reader."""

from __future__ import annotations

import os
from typing import Any

import pytest
from checked import asked, first_of, recorded

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


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("at", [0, 4])  # told by Python, by the extension
@pytest.mark.parametrize("where", sorted(READER))
def test_what_was_written_outside_is_found_and_its_reader_is_not_blamed(tmp_path: Any, where: str, at: int,
                                                                         optimizer: str) -> None:
    if where == "parameter" and at == 0:
        pytest.skip("nobody has looked at it before")
    found = first_of(tmp_path, PROGRAM.replace("OPTIMIZER", optimizer), where, str(at))
    assert (found["condition"], found["iteration"], found["tensor"]) == ("nonfinite_propagation", at, READER[where][0])
    assert READER[where][1] in found["detail"] and "no operator of torch wrote" in found["detail"]


KERNELS = """
import ctypes, sys
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

WHAT = sys.argv[1]


def memory(tensor):
    return np.ctypeslib.as_array((ctypes.c_float * tensor.numel()).from_address(tensor.data_ptr()))


class Relu(torch.autograd.Function):  # as a kernel of Triton is called
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        out = torch.empty_like(x)
        memory(out)[:] = np.nan if WHAT == "nan" and step == 3 else np.maximum(memory(x), 0)
        return out

    @staticmethod
    def backward(ctx, gradient):
        return gradient * (ctx.saved_tensors[0] > 0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        hidden = self.second(Relu.apply(self.first(x)))
        memory(hidden)[:] *= 2
        return self.third(hidden) + self.third(hidden)


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    x, y = torch.randn(5, 6), torch.randint(0, 3, (5,))
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
NOT_WRITTEN, CHANGED = "Net/second/written_outside-op1:0", "Net/third/written_outside-op1:0"


def test_kernels_that_write_finite_numbers_are_nodes_with_their_values_in_every_iteration(tmp_path: Any) -> None:
    run = recorded(tmp_path, KERNELS, "healthy")
    before, changed, written = (
        [row["statistics"] for row in asked("stats", run, "--tensor", name)["tensors"][0]["rows"]]
        for name in ("Net/second/addmm-op1:0", CHANGED, NOT_WRITTEN))
    assert len(before) == len(changed) == len(written) == 6
    for one, two in zip(before, changed):
        assert two["mean_abs"] == pytest.approx(2 * one["mean_abs"], rel=1e-12)
    assert all(row["min"] == 0 and row["max"] > 0 for row in written)
    assert asked("check", run)["first"] is None
    assert len(os.listdir(run / "graphs")) <= 2


def test_nan_in_memory_that_no_operator_wrote_is_named_where_that_was_made(tmp_path: Any) -> None:
    found = first_of(tmp_path, KERNELS, "nan")
    assert (found["condition"], found["iteration"], found["tensor"]) == ("nonfinite_propagation", 3, NOT_WRITTEN)
    assert "no operator of torch wrote into it before it was read" in found["detail"]
    assert found["frames"][0]["code"] == "out = torch.empty_like(x)"


def test_infinities_that_an_operator_makes_itself_are_its_own(tmp_path: Any) -> None:
    assert first_of(tmp_path, PROGRAM.replace("OPTIMIZER", "SGD"), "masked", "0") is None

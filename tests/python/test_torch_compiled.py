"""torch.compile at level ops: what is compiled stays so, with its bits, and is a node for each call."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_recorded import LEVELS, names, recorded, state_of

STEPS = 20


class Net(nn.Module):
    def __init__(self, breaks: bool) -> None:
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 3)
        self.breaks = breaks

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(self.norm(self.first(x)))
        if self.breaks:
            torch._dynamo.graph_break()
        return self.second(F.gelu(h))


def train(kind: str, steps: int = STEPS) -> str:
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = Net(kind == "breaks")
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    if kind == "method":
        model.compile(backend="aot_eager")
    call: Any = {"method": model, "function": torch.compile(lambda x: model(x), backend="aot_eager")}.get(kind)
    if call is None:
        call = torch.compile(model, backend="aot_eager")
    for _ in range(steps):
        loss = F.cross_entropy(call(torch.randn(16, 8)), torch.randint(0, 3, (16,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return state_of(model, optimizer)


@pytest.mark.parametrize("kind", ("module", "method", "function", "breaks"))
@pytest.mark.parametrize("level", LEVELS)
def test_no_bit_of_it_changes(level: str, kind: str, tmp_path: Any) -> None:
    plain = train(kind)
    recorder, state = recorded(level, lambda: train(kind), tmp_path)
    assert state == plain
    assert len(recorder.iterations) == STEPS


def test_it_is_one_node_forward_and_one_backward(tmp_path: Any) -> None:
    recorder, _ = recorded("ops", lambda: train("module", 4), tmp_path)
    ran = recorder.ran_in(2)
    [forward, backward] = [node for node in ran if node["type"] == "compiled"]
    assert (forward["name"], forward["domain"]) == ("Net/compiled-op1", "torch")
    assert backward["name"] == "grad/Net/CompiledFunctionBackward/compiled-op1"
    assert recorder.nodes[backward["derived_from"]] == forward
    read = [recorder.tensors[t]["name"] for t in forward["inputs"]]
    assert {"Net/first/weight", "Net/norm/bias", "Net/second/bias"} <= set(read)
    assert forward["outputs"][0] in recorder.iterations[2]["seen"]
    line = recorder.frames[forward["frames"][0]]
    assert line[0] == __file__ and "call(torch.randn" in line[3]
    assert "Net/first/addmm-op1" not in names(ran)
    assert any(node["type"] == "_log_softmax" for node in ran)  # what is not compiled is seen as ever
    for node in ran:  # each gradient that an optimizer reads comes from the compiled backward
        if node["type"] == "AccumulateGrad":
            assert node["inputs"][0] in backward["outputs"]
    assert recorder.versions() <= 2


def test_msdbg_compile_eager_shows_its_operators(tmp_path: Any, monkeypatch: Any, capfd: Any) -> None:
    monkeypatch.setenv("MSDBG_COMPILE", "eager")
    recorder, _ = recorded("ops", lambda: train("module", 4), tmp_path)
    ran = names(recorder.ran_in(2))
    assert "Net/first/addmm-op1" in ran and not any("compiled" in name for name in ran)
    assert capfd.readouterr().err.count("its bits may differ") == 1
    monkeypatch.setenv("MSDBG_COMPILE", "sometimes")
    with pytest.raises(ValueError, match="MSDBG_COMPILE=sometimes is neither keep nor eager"):
        recorded("ops", lambda: train("module", 1), tmp_path)

"""Recurrent layers that begin a batch with the state of the batch before."""

from __future__ import annotations

import subprocess
from typing import Any

import built
import pytest
from checked import asked, recorded

PROGRAM = """
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CELL, SHUFFLE, WAY = sys.argv[1], sys.argv[2] == "shuffled", sys.argv[3]
torch.manual_seed(0)
x = torch.randn(64, 6, 3)
loader = DataLoader(TensorDataset(x, x.mean((1, 2))[:, None]), batch_size=16, shuffle=SHUFFLE)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.GRUCell(3, 8) if CELL == "cell" else nn.LSTM(3, 8, batch_first=True)
        self.head = nn.Linear(8, 1)

    def forward(self, x, state):
        if CELL == "cell":
            for t in range(x.shape[1]):
                state = self.layer(x[:, t], state)
            return self.head(state), state
        out, state = self.layer(x, state)
        return self.head(out[:, -1]), state


net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
state = None
for epoch in range(2):
    for batch, target in loader:
        halves = batch.split(3, 1) if WAY == "parts" else (batch,)
        for part in halves:
            answer, state = net(part, state)
            state = state.detach() if CELL == "cell" else tuple(s.detach().clone() for s in state)
        if WAY != "carried":
            state = None
        optimizer.zero_grad()
        (answer - target).square().mean().backward()
        optimizer.step()
"""


@pytest.mark.parametrize("cell", ["cell", "layer"])
def test_a_state_that_outlives_its_batch_while_the_loader_shuffles(cell: str, tmp_path: Any) -> None:
    first = asked("check", recorded(tmp_path, PROGRAM, cell, "shuffled", "carried"))["first"]
    assert first["condition"] == "loss_input" and "begins each batch with the state" in first["detail"]
    assert first["source"]["line"] == (22 if cell == "cell" else 24)


@pytest.mark.parametrize("shuffle, way", [("in order", "carried"), ("shuffled", "new"), ("shuffled", "parts")])
@pytest.mark.parametrize("cell", ["cell", "layer"])
def test_states_that_are_meant(cell: str, shuffle: str, way: str, tmp_path: Any) -> None:
    run = recorded(tmp_path, PROGRAM, cell, shuffle, way)
    done = subprocess.run([built.MSDBG, "search", run, "carried_state"], capture_output=True, text=True)
    assert "carried_state" not in done.stdout

"""Trainings in which no two iterations are alike: sequences of other lengths, a loss that reads other things."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch_recorded import recorded, state_of

LENGTHS = (3, 5, 4, 5, 2, 3, 5, 4, 4, 2, 5, 3)


def train() -> str:
    torch.manual_seed(0)
    cell, out = nn.GRUCell(4, 6), nn.Linear(6, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
    for length in LENGTHS:
        h, states = torch.zeros(2, 6), []
        for x in torch.randn(length, 2, 4):
            h = cell(x, h)
            states.append(h)
        loss = out(torch.stack(states)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return state_of(cell, out, optimizer)


def test_they_define_no_more_nodes_than_they_have_names(tmp_path: Any) -> None:
    plain = train()
    recorder, state = recorded("ops", train, tmp_path)
    assert state == plain
    assert len({node["name"] for node in recorder.nodes}) == len(recorder.nodes)
    assert all(len(iteration["ran"]) > 0 for iteration in recorder.iterations)


def test_each_iteration_has_what_its_nodes_read_in_it(tmp_path: Any) -> None:
    recorder, _ = recorded("ops", train, tmp_path)
    for index, length in enumerate(LENGTHS):
        [stack] = [node for node in recorder.ran_in(index) if node["name"] == "main/stack-op1"]
        made = [recorder.tensors[t]["name"] for t in stack["inputs"]]
        assert len(made) == length == len(set(made))
        assert made == [f"GRUCell{'' if at == 0 else f'#{at + 1}'}/{made[at].split('/')[1]}" for at in range(length)]


def test_names_do_not_come_and_go(tmp_path: Any) -> None:
    """A shorter sequence runs some of the names of a longer one."""
    recorder, _ = recorded("ops", train, tmp_path)
    longest = {node["name"] for node in recorder.ran_in(LENGTHS.index(5))}
    for index in range(2, len(LENGTHS)):
        assert {node["name"] for node in recorder.ran_in(index)} <= longest

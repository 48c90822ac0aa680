"""What is carried from one iteration to the next with its graph."""

from __future__ import annotations

from typing import Any, Callable

import pytest
import torch
from torch import nn
from torch_recorded import LEVELS, recorded

STEPS = 14


def trained(step: Callable[[nn.Module, int], torch.Tensor], steps: int = STEPS) -> None:
    torch.manual_seed(0)
    model = nn.Linear(6, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for k in range(steps):
        optimizer.zero_grad()
        step(model, k).backward(retain_graph=True)
        optimizer.step()


def told(recorder: Any) -> list[tuple[str, int, dict[str, Any], str]]:
    """Name, iteration, attributes, the function that has the line."""
    return [(node["name"], i, node["attributes"], recorder.frames[node["frames"][0]][2])
            for node in recorder.nodes if node["type"] == "growing_graph"
            for i, iteration in enumerate(recorder.iterations) if node["outputs"][0] in iteration["seen"]]


class State:
    """A state that every step makes from the one before."""

    def __init__(self, detach: bool) -> None:
        self.value, self.detach = torch.zeros(2), detach

    def __call__(self, model: nn.Module, k: int) -> torch.Tensor:
        before = self.value.detach() if self.detach else self.value
        self.value = 0.5 * before + model(torch.ones(4, 6)).mean(0)
        return (self.value - 1).square().mean()


@pytest.mark.parametrize("level", LEVELS)
def test_a_state_that_is_never_detached_is_told_once(level: str, tmp_path: Any) -> None:
    recorder, _ = recorded(level, lambda: trained(State(False)), tmp_path)
    found = [one for one in told(recorder) if one[2]["backward"]]
    assert [one[:3] for one in found] == [("main/growing_graph-op1", 12, {"iterations": 12, "backward": True})]
    assert found[0][3].endswith("trained")


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_detached_or_made_once_does_not_grow(level: str, tmp_path: Any) -> None:
    recorder, _ = recorded(level, lambda: trained(State(True)), tmp_path)
    assert told(recorder) == []

    made: list[torch.Tensor] = []

    def once(model: nn.Module, k: int) -> torch.Tensor:  # a table that every iteration reads
        if not made:
            made.append(model(torch.ones(4, 6)))
        return made[0].square().mean() + model(torch.ones(1, 6)).mean()

    recorder, _ = recorded(level, lambda: trained(once), tmp_path / "once")
    assert told(recorder) == []


def test_a_total_that_keeps_all_graphs_is_told_at_its_line(tmp_path: Any) -> None:
    total: list[Any] = [0]

    def step(model: nn.Module, k: int) -> torch.Tensor:
        loss = model(torch.ones(4, 6)).square().mean()
        total[0] = total[0] + loss
        return loss

    recorder, _ = recorded("ops", lambda: trained(step), tmp_path)
    assert [one[:3] for one in told(recorder)] == [("main/growing_graph-op2", 12, {"iterations": 12, "backward": False})]
    assert told(recorder)[0][3].endswith("step")

    def number(model: nn.Module, k: int) -> torch.Tensor:
        loss = model(torch.ones(4, 6)).square().mean()
        total[0] = total[0] + loss.item()
        return loss

    total[0] = 0
    recorder, _ = recorded("ops", lambda: trained(number), tmp_path / "number")
    assert told(recorder) == []

"""Optimizers that are made anew."""

from __future__ import annotations

from typing import Any, Callable

import pytest
import torch
from torch import nn
from torch_recorded import LEVELS, recorded

Make = Callable[[Any], torch.optim.Optimizer]


def trained(make: Make, steps_each: int, optimizers: int = 9) -> None:
    torch.manual_seed(0)
    model = nn.Linear(6, 2)
    for _ in range(optimizers):
        optimizer = make(model.parameters())
        for _ in range(steps_each):
            optimizer.zero_grad()
            model(torch.ones(4, 6)).square().mean().backward()
            optimizer.step()


def told(recorder: Any) -> list[tuple[int, dict[str, Any], str]]:
    """Iteration, attributes, the function that has the line."""
    return [(i, node["attributes"], recorder.frames[node["frames"][0]][2])
            for node in recorder.nodes if node["type"] == "new_optimizer"
            for i, iteration in enumerate(recorder.iterations) if node["outputs"][0] in iteration["seen"]]


@pytest.mark.parametrize("level", LEVELS)
def test_one_for_every_step_is_told_once_and_all_have_one_name(level: str, tmp_path: Any) -> None:
    recorder, _ = recorded(level, lambda: trained(lambda p: torch.optim.Adam(p, 0.01), 1), tmp_path)
    assert [one[:2] for one in told(recorder)] == [(5, {"optimizer": "Adam", "steps": 6})]
    assert told(recorder)[0][2].endswith("<lambda>")
    rates = [tensor["name"] for tensor in recorder.tensors if tensor["role"] == "hyperparameter"]
    assert rates == ["optimizer/learning_rate"]


@pytest.mark.parametrize("make, steps", ((lambda p: torch.optim.SGD(p, 0.01), 1), (lambda p: torch.optim.Adam(p, 0.01), 2)))
def test_what_keeps_nothing_or_makes_several_steps_is_not(make: Make, steps: int, tmp_path: Any) -> None:
    recorder, _ = recorded("train", lambda: trained(make, steps), tmp_path)
    assert told(recorder) == []


def test_optimizers_that_live_side_by_side_keep_their_names(tmp_path: Any) -> None:
    def both() -> None:
        model = nn.Linear(6, 2)
        optimizers = [torch.optim.Adam(model.parameters(), 0.01), torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)]
        for step in range(16):
            optimizers[step % 2].zero_grad()
            model(torch.ones(4, 6)).square().mean().backward()
            optimizers[step % 2].step()

    recorder, _ = recorded("train", both, tmp_path)
    assert told(recorder) == []
    assert {name for tensor in recorder.tensors if (name := tensor["name"]).endswith("learning_rate")} == {
        "optimizer/learning_rate", "optimizer1/learning_rate"}

"""A network that is trained on in evaluation mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch_recorded import LEVELS, recorded


class Dropping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line, self.drop = nn.Linear(6, 1), nn.Dropout(0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.line(self.drop(x))


def evaluated(model: nn.Module, forgets: bool, steps: int = 5) -> None:
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(steps):
        if not forgets:
            model.train()
        optimizer.zero_grad()
        model(torch.ones(4, 6)).square().mean().backward()
        optimizer.step()
        if step == 1:
            model.eval()
            with torch.no_grad():
                model(torch.ones(4, 6))
            model(torch.ones(4, 6))  # as by someone who forgot no_grad()


def told(recorder: Any) -> dict[str, list[int]]:
    marks = [node for node in recorder.nodes if node["type"] == "eval"]
    return {node["name"]: [i for i, iteration in enumerate(recorder.iterations) if node["outputs"][0] in iteration["seen"]]
            for node in marks}


@pytest.mark.parametrize("level", LEVELS)
def test_a_network_that_stays_in_evaluation_mode_is_told_in_each_iteration(level: str, tmp_path: Any) -> None:
    recorder, _ = recorded(level, lambda: evaluated(Dropping(), True), tmp_path)
    assert told(recorder) == {"Dropping/eval-op1": [2, 3, 4]}
    mark = next(node for node in recorder.nodes if node["type"] == "eval")
    assert mark["attributes"] == {"switched_off": "Dropout"}
    assert "evaluated" in recorder.frames[mark["frames"][0]][2]


@pytest.mark.parametrize("level", LEVELS)
def test_evaluation_mode_without_a_difference_or_with_train_after_it_is_not(level: str, tmp_path: Any) -> None:
    recorder, _ = recorded(level, lambda: evaluated(Dropping(), False), tmp_path)
    assert told(recorder) == {}
    recorder, _ = recorded(level, lambda: evaluated(nn.Linear(6, 1), True), tmp_path / "plain")
    assert told(recorder) == {}


@pytest.mark.parametrize("level", LEVELS)
def test_an_evaluation_in_inference_mode_is_no_trouble(tmp_path: Any, level: str) -> None:
    data = torch.utils.data.TensorDataset(torch.randn(8, 4), torch.randn(8, 2))

    def train() -> None:
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            for x, y in torch.utils.data.DataLoader(data, batch_size=4):
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
            with torch.inference_mode():
                for x, y in torch.utils.data.DataLoader(data, batch_size=4):
                    torch.nn.functional.mse_loss(model(x), y)

    recorder, _ = recorded(level, train, tmp_path)
    assert len(recorder.iterations) == 6

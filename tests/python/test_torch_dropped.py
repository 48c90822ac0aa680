"""Gradients of several passes, of which all but the last were for nothing."""

from __future__ import annotations

from typing import Any, Callable

import pytest
import torch
from torch import nn
from torch_recorded import LEVELS, recorded


class Loop:
    """Three passes for each step; `between`: what is done before each."""

    def __init__(self, between: Callable[[Any, Any], None], before: Callable[[Any], None] = lambda model: None) -> None:
        self.between, self.before = between, before

    def __call__(self) -> None:
        torch.manual_seed(0)
        model = nn.Linear(6, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        for _ in range(6):
            for _ in range(3):
                self.between(optimizer, model)
                model(torch.randn(4, 6)).square().mean().backward()
            self.before(model)
            optimizer.step()
            optimizer.zero_grad()


def told(recorder: Any) -> list[tuple[int, dict[str, Any]]]:
    return [(i, node["attributes"]) for node in recorder.nodes if node["type"] == "dropped_gradients"
            for i, iteration in enumerate(recorder.iterations) if node["outputs"][0] in iteration["seen"]]


def zeroed(optimizer: Any, model: Any) -> None:
    optimizer.zero_grad()


def moved(optimizer: Any, model: Any) -> None:  # as SAM does
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.01)
    optimizer.zero_grad()


def merged(model: Any) -> None:  # as PCGrad does, of copies
    for p in model.parameters():
        p.grad = p.grad * 2


@pytest.mark.parametrize("level", LEVELS)
def test_zero_grad_in_each_micro_batch_is_told_once(level: str, tmp_path: Any) -> None:
    recorder, _ = recorded(level, Loop(zeroed), tmp_path)
    assert told(recorder) == [(2, {"passes": 3})]
    assert len(recorder.iterations) == 6


@pytest.mark.parametrize("loop", (Loop(lambda optimizer, model: None), Loop(moved), Loop(zeroed, merged)))
def test_what_adds_up_or_was_made_something_of_is_not(loop: Loop, tmp_path: Any) -> None:
    recorder, _ = recorded("train", loop, tmp_path)
    assert told(recorder) == []

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


def emptied(to_none: bool, every: int = 1) -> Callable[[], None]:
    """zero_grad() between backward() and step(), in every so many iterations."""

    def train() -> None:
        torch.manual_seed(0)
        model = nn.Linear(6, 2)
        optimizer = torch.optim.Adam(model.parameters(), 0.01)
        for i in range(6):
            model(torch.randn(4, 6)).square().mean().backward()
            if i % every == 0:
                optimizer.zero_grad(set_to_none=to_none)
            optimizer.step()
            optimizer.zero_grad()

    return train


@pytest.mark.parametrize("level", LEVELS)
def test_zero_grad_before_the_step_is_told_once(level: str, tmp_path: Any) -> None:
    recorder, _ = recorded(level, emptied(True), tmp_path)
    assert told(recorder) == [(2, {"passes": 1})]
    assert len(recorder.iterations) == 6


def test_a_step_that_is_left_out_now_and_then_is_no_mistake(tmp_path: Any) -> None:
    recorder, _ = recorded("train", emptied(True, 2), tmp_path)
    assert told(recorder) == []


class Tail(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.body(x)))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("late", (False, True))
def test_a_layer_that_is_replaced_after_the_optimizer_was_made(late: bool, level: str, tmp_path: Any) -> None:
    def train() -> None:
        torch.manual_seed(0)
        model = Tail()
        if not late:
            model.head = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        if late:
            model.head = nn.Linear(8, 3)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 6)).square().mean().backward()
            optimizer.step()

    recorder, _ = recorded(level, train, tmp_path)
    marks = [node["attributes"] for node in recorder.nodes if node["type"] == "replaced_parameters"]
    assert marks == ([{"name": "Tail/head/weight", "count": 2}] if late else [])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("detached", (False, True))
def test_one_of_two_optimizers_that_steps_in_vain(detached: bool, level: str, tmp_path: Any) -> None:
    def train() -> None:
        torch.manual_seed(0)
        maker, judge = nn.Linear(3, 4), nn.Linear(4, 1)
        first, second = (torch.optim.SGD(net.parameters(), 0.01) for net in (maker, judge))
        for _ in range(5):
            made = maker(torch.randn(8, 3))
            second.zero_grad()
            judge(made.detach()).square().mean().backward()
            second.step()
            first.zero_grad()
            (-judge(made.detach() if detached else made)).mean().backward()
            first.step()

    recorder, _ = recorded(level, train, tmp_path)
    marks = [node["attributes"] for node in recorder.nodes if node["type"] == "steps_in_vain"]
    assert marks == ([{"name": "Linear/weight", "count": 2}] if detached else [])

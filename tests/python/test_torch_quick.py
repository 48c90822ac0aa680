"""What the extension tells without Python code (Follower, Turns) is what Python tells: the same programs, recorded with and
without it, are the same runs. Programs whose steps are not what they were in the iteration before."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable
from unittest import mock

import built
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_recorded import LEVELS

import msdbg


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token, self.mix, self.head = nn.Embedding(9, 6), nn.Linear(6, 6), nn.Linear(6, 9, bias=False)
        self.head.weight = self.token.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.mix(self.token(x))))


def losses(model: nn.Module, count: int) -> Any:
    for at in range(count):
        x = torch.randint(0, 9, (5,))
        yield at, F.cross_entropy(model(x), (x + 1) % 9)


def writes_between_steps() -> None:
    model = Tied()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for at, loss in losses(model, 8):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if at == 3:
            model.mix.weight.data.mul_(1.5)
        if at == 4:
            model.mix.bias.data = torch.zeros(6)  # another storage
        if at == 5:
            optimizer.state.clear()


def freezes_and_thaws() -> None:
    model = Tied()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for at, loss in losses(model, 8):
        model.mix.requires_grad_(at < 2 or at > 4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def two_optimizers_for_one_parameter() -> None:
    model = Tied()
    first = torch.optim.SGD(model.mix.parameters(), lr=0.1)
    second = torch.optim.AdamW(model.parameters(), lr=0.01)
    for at, loss in losses(model, 8):
        model.zero_grad()
        loss.backward()
        if at % 3 != 1:
            first.step()
        second.step()


def skips_steps() -> None:
    model = Tied()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=3)
    for at, loss in losses(model, 8):
        optimizer.zero_grad()
        scaler.scale(loss * (float("inf") if at in (3, 4) else 1.0)).backward()
        scaler.step(optimizer)
        scaler.update()


def accumulates_and_clips() -> None:
    model = Tied()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for at, loss in losses(model, 12):
        (loss / 2).backward()
        if at % 2:
            if at > 5:
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad(set_to_none=at < 8)


def sparse_then_dense() -> None:
    table, out = nn.Embedding(9, 6, sparse=True), nn.Linear(6, 9)
    optimizer = torch.optim.SGD([*table.parameters(), *out.parameters()], lr=0.1)
    for at, loss in losses(nn.Sequential(table, out), 8):
        optimizer.zero_grad()
        loss.backward()
        if at > 4:
            table.weight.grad = table.weight.grad.to_dense()
        optimizer.step()
        if at == 6:
            table.to(torch.float64), out.to(torch.float64)


def closures() -> None:
    model = Tied()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)
    for _ in range(4):
        x = torch.randint(0, 9, (5,))

        def closure(x: torch.Tensor = x) -> torch.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), (x + 1) % 9)
            loss.backward()
            return loss

        optimizer.step(closure)


PROGRAMS = (writes_between_steps, freezes_and_thaws, two_optimizers_for_one_parameter, skips_steps, accumulates_and_clips,
            sparse_then_dense, closures)


def run_of(module: str, level: str, program: Callable[[], None], folder: str) -> tuple[Any, Any]:
    """Statistics of every tensor, and the tensors."""
    if "msdbg._record" not in sys.modules:  # the package is the one of the sources
        sys.modules["msdbg._record"] = built.extension()
    given = {"MSDBG_RECORD_MODULE": module, "MSDBG_STRICT": "1", "MSDBG_PROGRAM": built.MSDBG, "MSDBG_DEEPEN": "0"}
    with mock.patch.dict(os.environ, given):
        torch.manual_seed(0)
        with msdbg.record(folder, level):
            program()
        run = msdbg.open(folder)
        return list(run.stats("*")), run.tensors("*")


@pytest.mark.skipif(bool(built.missing()), reason=built.missing())
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_run_is_the_same_with_and_without_it(program: Callable[[], None], level: str, tmp_path: Any) -> None:
    statistics, tensors = run_of("msdbg._record", level, program, str(tmp_path / "quick.msdbg"))
    slow_statistics, slow_tensors = run_of("slow_record", level, program, str(tmp_path / "slow.msdbg"))
    assert len(statistics) > 50
    assert tensors == slow_tensors
    for row, slow in zip(statistics, slow_statistics):
        assert repr(row) == repr(slow)
    assert len(statistics) == len(slow_statistics)

"""When an iteration ends: several optimizers, accumulation, closures, steps that a GradScaler skips. Needs torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch_recorded import LEVELS, Net, derived_share, names, recorded, state_of


def gan(steps: int = 6, critic: int = 1) -> str:
    maker, judge = nn.Linear(4, 6), Net()
    makes, judges = torch.optim.Adam(maker.parameters(), 0.01), torch.optim.SGD(judge.parameters(), 0.01)
    for _ in range(steps):
        for _ in range(critic):
            loss = judge(torch.randn(5, 6)).mean() - judge(maker(torch.randn(5, 4)).detach()).mean()
            judges.zero_grad()
            loss.backward()
            judges.step()
        loss = judge(maker(torch.randn(5, 4))).mean()
        makes.zero_grad()
        loss.backward()
        makes.step()
    return state_of(judge, makes, judges)


@pytest.mark.parametrize("level", LEVELS)
def test_an_iteration_of_a_gan_has_the_steps_of_both_optimizers(level: str, tmp_path: Any) -> None:
    recorder, _ = recorded(level, gan, tmp_path)
    assert len(recorder.iterations) == 6
    for index in range(6):
        steps = {node["type"] for node in recorder.ran_in(index) if node["domain"] == "torch.optim"}
        assert steps == {"Adam", "SGD"}
    assert {"loss", "loss/1", "learning_rate", "learning_rate/optimizer1"} <= set(recorder.iterations[1]["scalars"])


def test_a_critic_that_steps_often_is_in_one_iteration(tmp_path: Any) -> None:
    recorder, _ = recorded("train", lambda: gan(4, 5), tmp_path)
    assert len(recorder.iterations) == 4
    assert "update/Net/first#5/SGD-op1" in names(recorder.ran_in(2))


def through_one_line(way: str) -> list[float]:
    """Losses that one function differentiates, as they come."""
    one, other = Net(), Net()
    optimizers = [torch.optim.SGD(net.parameters(), 0.1) for net in ((one, other) if way == "gan" else (one,))]
    losses: list[float] = []

    def backward(loss: torch.Tensor) -> None:
        losses.append(float(loss.detach()))
        loss.backward()

    for _ in range(4):
        x = torch.randn(4, 6)
        if way == "gan":
            for net, optimizer in zip((one, other), optimizers):
                backward(net(x).square().mean())
                optimizer.step()
            for optimizer in optimizers:
                optimizer.zero_grad()
            continue
        backward(one(x).square().mean())
        if way == "sam":
            with torch.no_grad():
                for p in one.parameters():
                    p += 0.01 * p.grad
            optimizers[0].zero_grad()
        backward(one(x).square().mean())
        optimizers[0].step()
        optimizers[0].zero_grad()
    return losses


@pytest.mark.parametrize("way", ["sam", "gan", "added"])
def test_losses_of_one_line_add_up_where_their_gradients_do(way: str, tmp_path: Any) -> None:
    recorder, losses = recorded("train", lambda: through_one_line(way), tmp_path)
    scalars = [iteration["scalars"] for iteration in recorder.iterations]
    pairs = list(zip(losses[::2], losses[1::2]))
    if way == "added":
        assert [each["loss"] for each in scalars] == [pytest.approx(a + b) for a, b in pairs]
        assert "loss/1" not in scalars[0]
    else:
        assert [(each["loss"], each["loss/1"]) for each in scalars] == pairs


def test_updates_have_what_their_group_is_set_to(tmp_path: Any) -> None:
    def train() -> None:
        net = Net()
        groups = [{"params": net.first.parameters(), "weight_decay": 0.1}, {"params": net.second.parameters()}]
        optimizer = torch.optim.AdamW(groups, 1e-3, betas=(0.9, 0.95), weight_decay=0)
        net(torch.randn(4, 6)).square().mean().backward()
        optimizer.step()

    recorder, _ = recorded("train", train, tmp_path)
    found = {node["name"]: node["attributes"] for node in recorder.nodes if node["domain"] == "torch.optim"}
    assert found["update/Net/first/AdamW-op1"].items() >= {"beta1": 0.9, "beta2": 0.95, "weight_decay": 0.1}.items()
    assert "weight_decay" not in found["update/Net/second/AdamW-op1"]
    assert not {"lr", "params", "foreach"} & set(found["update/Net/first/AdamW-op1"])


def accumulation() -> str:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(5):
        for _ in range(3):
            (model(torch.randn(4, 6)).square().mean() / 3).backward()
        optimizer.step()
        optimizer.zero_grad()
    return state_of(model, optimizer)


@pytest.mark.parametrize("level", LEVELS)
def test_accumulated_parts_are_one_iteration(level: str, tmp_path: Any) -> None:
    torch.manual_seed(1)
    plain = accumulation()
    torch.manual_seed(1)
    recorder, bits = recorded(level, accumulation, tmp_path)
    assert bits == plain and len(recorder.iterations) == 5
    if level == "ops":
        ran = names(recorder.ran_in(2))
        assert {"Net/first/addmm-op1", "Net/first#2/addmm-op1", "Net/first#3/addmm-op1"} <= set(ran)
        assert derived_share(recorder) == 1.0


def closures() -> str:
    model = Net()
    optimizer = torch.optim.LBFGS(model.parameters(), 0.5, max_iter=4)
    x = torch.randn(9, 6)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    for _ in range(4):
        optimizer.step(closure)
    return state_of(model, optimizer)


@pytest.mark.parametrize("level", LEVELS)
def test_closures_are_recorded_within_the_step(level: str, tmp_path: Any) -> None:
    torch.manual_seed(1)
    plain = closures()
    torch.manual_seed(1)
    recorder, bits = recorded(level, closures, tmp_path)
    assert bits == plain and len(recorder.iterations) == 4
    assert "update/Net/first/LBFGS-op1" in names(recorder.ran_in(1))
    losses = [iteration["scalars"]["loss"] for iteration in recorder.iterations]
    assert losses == sorted(losses, reverse=True)


def scaled() -> str:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    for index in range(6):
        loss = model(torch.randn(4, 6)).square().mean()
        if index == 2:
            loss = loss * float("inf")
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    return state_of(model, optimizer)


@pytest.mark.parametrize("level", LEVELS)
def test_a_skipped_step_ends_an_iteration_too(level: str, tmp_path: Any) -> None:
    recorder, _ = recorded(level, scaled, tmp_path)
    assert len(recorder.iterations) == 6
    skipped = [index for index in range(6) if "step_skipped" in recorder.iterations[index]["scalars"]]
    assert skipped == [2]
    assert not [node for node in recorder.ran_in(2) if node["domain"] == "torch.optim"]
    assert [node for node in recorder.ran_in(2) if node["type"] == "AccumulateGrad"]
    assert [iteration["scalars"]["loss_scale"] for iteration in recorder.iterations] == [8, 8, 8, 4, 4, 4]
    assert recorder.iterations[1]["scalars"]["loss"] < 8  # of the loss, not of the scaled one


def shared() -> str:
    """A mistake that people make: two optimizers of the same parameters."""
    torch.manual_seed(0)
    model = Net()
    optimizers = [torch.optim.SGD(model.parameters(), 0.1), torch.optim.Adam(model.parameters(), 0.01)]
    for _ in range(3):
        for optimizer in optimizers:
            optimizer.zero_grad()
        model(torch.randn(4, 6)).square().mean().backward()
        for optimizer in optimizers:
            optimizer.step()
    return state_of(model, *optimizers)


@pytest.mark.parametrize("level", LEVELS)
def test_two_optimizers_of_the_same_parameters(level: str, tmp_path: Any) -> None:
    plain = shared()
    recorder, bits = recorded(level, shared, tmp_path)
    assert bits == plain
    kinds = {node["type"] for node in recorder.ran_in(1) if node["domain"] == "torch.optim"}
    assert kinds == {"SGD", "Adam"}

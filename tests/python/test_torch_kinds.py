"""Kinds of trainings: checkpointing, evaluation, functions of one's own, sparse gradients, in-place writes, changes by hand."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from test_torch_optimizers import gan
from torch_recorded import LEVELS, Net, derived_share, names, recorded, state_of

import msdbg


class Deep(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.reentrant = reentrant
        self.inner, self.out = Net(), nn.Linear(2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        from torch.utils.checkpoint import checkpoint
        return self.out(F.dropout(checkpoint(self.inner, x, use_reentrant=self.reentrant), 0.3))


def one_model(model: nn.Module, width: int = 6, steps: int = 4) -> str:
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(4, width, requires_grad=True)).square().mean().backward()
        optimizer.step()
    return state_of(model, optimizer)


@pytest.mark.parametrize("reentrant", (False, True))
def test_what_checkpointing_computes_again_is_marked(reentrant: bool, tmp_path: Any) -> None:
    torch.manual_seed(1)
    plain = one_model(Deep(reentrant))
    torch.manual_seed(1)
    recorder, bits = recorded("ops", lambda: one_model(Deep(reentrant)), tmp_path)
    assert bits == plain
    again = [node for node in recorder.ran_in(1) if node["attributes"].get("recomputed")]
    assert {"Deep/inner/first#2/addmm-op1", "Deep/inner#2/tanh-op1"} <= set(names(again))
    first = {node["name"]: recorder.nodes[node["derived_from"]]["name"] for node in again}
    assert first["Deep/inner/first#2/addmm-op1"] == "Deep/inner/first/addmm-op1"
    assert derived_share(recorder) >= 0.99


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        return 3 * x * x * gradient


class WithFunction(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.out = nn.Embedding(7, 6, sparse=True), nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(Cube.apply(self.embed(x.abs().long() % 7).sum(1)))


@pytest.mark.parametrize("level", LEVELS)
def test_functions_of_ones_own_and_sparse_gradients(level: str, tmp_path: Any) -> None:
    recorder, _ = recorded(level, lambda: one_model(WithFunction()), tmp_path)
    aliases = {recorder.tensors[t]["alias"] for t in recorder.iterations[1]["seen"]}
    assert "grad(WithFunction/embed/weight)" in aliases
    if level == "ops":
        inside = [node for node in recorder.ran_in(1) if "/CubeBackward/" in node["name"]]
        assert inside and all(recorder.nodes[node["derived_from"]]["type"] == "mul" for node in inside)
        # its own line first, then where the forward was called
        assert {recorder.frames[node["frames"][0]][2].split(".")[-1] for node in inside} == {"backward"}
        assert all("forward" in recorder.frames[node["frames"][1]][2] for node in inside)
        assert derived_share(recorder) == 1.0


def evaluated() -> str:
    model = Net()
    average = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for index in range(9):
        optimizer.zero_grad()
        model(torch.randn(4, 6)).square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            for mean, p in zip(average.parameters(), model.parameters()):
                mean.mul_(0.9).add_(p, alpha=0.1)
        if index % 3 == 2:
            model.eval()
            with torch.no_grad():
                F.cross_entropy(model(torch.full((4, 6), float("nan"))), torch.zeros(4, dtype=torch.long))
            model.train()
    return state_of(model, optimizer)


@pytest.mark.parametrize("level", LEVELS)
def test_an_evaluation_is_left_out_and_renames_nothing(level: str, tmp_path: Any) -> None:
    recorder, _ = recorded(level, evaluated, tmp_path)
    assert len(recorder.iterations) == 9
    assert not any(seen["odd"] for index in range(9) for name, seen in recorder.seen_in(index).items()
                   if "full" not in name)
    forward = [[n for n in names(recorder.ran_in(index)) if n.startswith("Net/")] for index in range(9)]
    assert all(one == forward[0] for one in forward)


def test_in_place_writes_are_values_of_their_own(tmp_path: Any) -> None:
    class InPlace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.line = nn.Linear(6, 6)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.line(x)
            h[:, :2] = 0
            buffer = torch.empty(4, 12)
            buffer[:, :6] = h
            buffer[:, 6:] = 1
            return h.relu_() + buffer[:, 6:]

    recorder, _ = recorded("ops", lambda: one_model(InPlace()), tmp_path)
    ran = {node["name"]: node for node in recorder.ran_in(1)}
    seen = recorder.seen_in(1)
    assert "InPlace/empty-op1:0" not in seen  # nobody wrote it yet
    written = [node for name, node in ran.items() if name.startswith("InPlace/copy_")]
    assert written and seen["InPlace/line/addmm-op1:0"]["shape"] == (4, 6)
    relu = ran["InPlace/relu_-op1"]
    assert relu["inputs"] != relu["outputs"] and "InPlace/relu_-op1:0" in seen
    assert derived_share(recorder) >= 0.99


def test_changes_by_hand_end_with_step(tmp_path: Any) -> None:
    def train() -> None:
        model = Net()
        for number in range(5):
            msdbg.step(100 + number)
            loss = msdbg.watch(model(torch.randn(4, 6)), "out").square().mean()
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
                    p.grad = None

    for level in ("train", "ops"):
        recorder, _ = recorded(level, train, tmp_path)
        assert [i["scalars"]["step"] for i in recorder.iterations] == [100, 101, 102, 103, 104]
        assert "watch/out-op1" in names(recorder.ran_in(1))
        assert level == "train" or "Net/first/addmm-op1" in names(recorder.ran_in(1))


def test_a_number_is_watched_too_and_what_is_neither_is_refused(tmp_path: Any) -> None:
    def train() -> None:
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for number in range(3):
            model(torch.randn(4, 6)).mean().backward()
            msdbg.watch(0.5 * number, "temperature")
            with pytest.raises(TypeError, match="was given a str and a Tensor"):
                msdbg.watch("out", model.first.weight.detach())
            optimizer.step()

    for level in LEVELS:
        recorder, _ = recorded(level, train, tmp_path)
        assert len(recorder.iterations) == 3
        assert "watch/temperature-op1" in names(recorder.ran_in(1))


def test_scopes_of_ones_own(tmp_path: Any) -> None:
    def train() -> None:
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            with msdbg.scope("augment"):
                x = torch.randn(4, 6) * 2
            model(x).mean().backward()
            optimizer.step()

    recorder, _ = recorded("ops", train, tmp_path)
    assert "main/augment/mul-op1" in names(recorder.ran_in(1))


def test_an_error_of_the_recorder_ends_the_recording_and_not_the_training(tmp_path: Any, monkeypatch: Any,
                                                                         capsys: Any) -> None:
    import fake_record

    def broken(self: Any, node: int) -> None:
        raise RuntimeError("disk full")

    monkeypatch.setattr(fake_record.Recorder, "ran", broken)
    torch.manual_seed(1)
    plain = gan()
    for level in LEVELS:
        torch.manual_seed(1)
        monkeypatch.setenv("MSDBG_RECORD_MODULE", "fake_record")
        monkeypatch.setenv("MSDBG_STRICT", "0")
        with msdbg.record(str(tmp_path / "x"), level):
            assert gan() == plain
        assert "recording ended, the training goes on: RuntimeError: disk full" in capsys.readouterr().err


def test_nothing_of_it_stays_in_torch(tmp_path: Any) -> None:
    before = (torch.autograd.backward, torch.optim.Optimizer.__init__, torch.nn.utils.clip_grad_norm_, torch.compile)
    for level in LEVELS:
        recorded(level, gan, tmp_path)
    after = (torch.autograd.backward, torch.optim.Optimizer.__init__, torch.nn.utils.clip_grad_norm_, torch.compile)
    assert before == after
    assert not torch.nn.modules.module._global_forward_hooks
    assert torch._C._len_torch_dispatch_stack() == 0


def test_a_loss_that_is_not_finite_deepens_the_recording(tmp_path: Any, capsys: Any) -> None:
    (tmp_path / "run.msdbg").mkdir()

    def train() -> str:
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for index in range(12):
            x = torch.randn(4, 6)
            loss = model(x).square().mean() * (float("inf") if index == 2 else 1.0)
            optimizer.zero_grad()
            if index == 2:
                loss = loss.detach().requires_grad_()
            loss.backward()
            optimizer.step()
        return state_of(model, optimizer)

    for level in ("train", "modules"):
        (tmp_path / "run.msdbg" / "arm.json").unlink(missing_ok=True)
        torch.manual_seed(1)
        plain = train()
        torch.manual_seed(1)
        recorder, bits = recorded(level, train, tmp_path)
        assert bits == plain and len(recorder.iterations) == 12
        deep = [index for index in range(12) if any(n["domain"] == "aten" for n in recorder.ran_in(index))]
        assert deep == [3, 4, 5]
        assert "iteration 2" in capsys.readouterr().err


@pytest.mark.parametrize("level", LEVELS)
def test_classes_of_modules_and_devices_of_tensors_are_told(level: str, tmp_path: Any) -> None:
    class Head(nn.Sequential):
        pass

    def train() -> None:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), Head(nn.Dropout(0.0), nn.Linear(6, 2)))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(3, 4)).pow(2).mean().backward()
            optimizer.step()

    recorder, _ = recorded(level, train, tmp_path)
    assert recorder.modules == {"Sequential": "Sequential", "Sequential/0": "Linear", "Sequential/1": "ReLU",
                                "Sequential/2": "Head", "Sequential/2/0": "Dropout", "Sequential/2/1": "Linear"}
    assert [t["name"] for t in recorder.tensors if t.get("device") != "cpu"] == []


def test_a_layer_put_in_anothers_place_has_that_place(tmp_path: Any) -> None:
    def train() -> None:
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        model.second = nn.Linear(8, 3)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 6)).square().mean().backward()
            optimizer.step()

    recorder, _ = recorded("ops", train, tmp_path)
    assert "Net/second/addmm-op1" in names(recorder.ran_in(1))
    assert not any(name.startswith("Linear") for name in names(recorder.ran_in(1)))


def _copied() -> tuple[list[int], bytes]:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    counts = []
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(4, 6)).square().mean().backward()
        optimizer.step()
        twin = copy.deepcopy(model)
        counts.append(int(torch.equal(twin(torch.ones(1, 6)), model(torch.ones(1, 6)))))
    average = torch.optim.swa_utils.AveragedModel(model)
    average(torch.ones(1, 6))
    return counts, pickle.dumps(model)


@pytest.mark.parametrize("level", LEVELS)
def test_a_model_can_be_copied_and_pickled_while_it_is_recorded(level: str, tmp_path: Any) -> None:
    recorder, (equal, saved) = recorded(level, _copied, tmp_path)
    assert equal == [1, 1, 1] and len(recorder.iterations) == 3
    assert b"msdbg" not in saved  # it is loaded where there is none
    assert pickle.loads(saved)(torch.ones(1, 6)).shape == (1, 2)

"""Recording changes no bit of a training, and what it tells is a graph with names that stay."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_recorded import LEVELS, derived_share, names, recorded, state_of

STEPS = 20


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.out = nn.Linear(144, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(F.dropout(F.relu(self.norm(self.conv(x)), inplace=True), 0.2).flatten(1))


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        weights = q @ k.transpose(1, 2) / 4.0
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        weights = weights.masked_fill(future, float("-inf")).softmax(-1)
        return x + self.mix(F.dropout(weights, 0.1) @ v)


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(11, 16)
        self.blocks = nn.ModuleList([Block(16) for _ in range(2)])
        self.head = nn.Linear(16, 11, bias=False)
        self.head.weight = self.token.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.token(x)
        for block in self.blocks:
            h = block(h)
        return self.head(h).transpose(1, 2)


def train_mlp() -> Any:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.randn(80, 8), torch.randint(0, 3, (80,)))
    for _ in range(STEPS // 5):
        for x, y in torch.utils.data.DataLoader(data, batch_size=16, shuffle=True):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    return state_of(model, optimizer)


def train_cnn() -> Any:
    model = Cnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 7)
    for _ in range(STEPS):
        loss = F.cross_entropy(model(torch.randn(8, 1, 8, 8)), torch.randint(0, 3, (8,)))
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        schedule.step()
    return state_of(model, optimizer)


def train_gpt() -> Any:
    model = Gpt()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    data = torch.randint(0, 11, (500,))
    for _ in range(STEPS):
        at = torch.randint(0, 480, (4,))
        x = torch.stack([data[i:i + 12] for i in at])
        y = torch.stack([data[i + 1:i + 13] for i in at])
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return state_of(model, optimizer)


TRAININGS = {"mlp": train_mlp, "cnn": train_cnn, "gpt": train_gpt}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", TRAININGS)
def test_bits_of_a_recorded_training_are_those_of_a_plain_one(kind: str, level: str, tmp_path: Any) -> None:
    torch.manual_seed(3)
    plain = TRAININGS[kind]()
    torch.manual_seed(3)
    recorder, bits = recorded(level, TRAININGS[kind], tmp_path)
    assert bits == plain
    assert len(recorder.iterations) == STEPS
    assert recorder.versions() <= 3
    assert recorder.finished == ("finished", "", 0)
    later = [names(recorder.ran_in(i)) for i in range(2, STEPS)]
    assert all(one == later[0] for one in later)
    assert not any(seen["odd"] for i in range(STEPS) for name, seen in recorder.seen_in(i).items()
                   if "masked_fill" not in name)


@pytest.mark.parametrize("kind", TRAININGS)
def test_operators_have_frames_and_backward_ones_their_forward(kind: str, tmp_path: Any) -> None:
    recorder, _ = recorded("ops", TRAININGS[kind], tmp_path)
    for node in recorder.nodes:
        if node["phase"] == "forward":
            files = [recorder.frames[frame][0] for frame in node["frames"]]
            assert __file__ in files, node["name"]
    assert derived_share(recorder) >= 0.99


def test_meant_infinities_are_marked(tmp_path: Any) -> None:
    recorder, _ = recorded("ops", train_gpt, tmp_path)
    marked = sorted({node["name"] for node in recorder.nodes if node["attributes"].get("meant_infinity")})
    assert marked == ["Gpt/blocks/0/masked_fill-op1", "Gpt/blocks/1/masked_fill-op1"]


def test_scalars_of_an_iteration(tmp_path: Any) -> None:
    for level in LEVELS:
        recorder, _ = recorded(level, train_gpt, tmp_path)
        scalars = recorder.iterations[4]["scalars"]
        assert set(scalars) == {"loss", "learning_rate", "gradient_norm", "step_time"}


def test_parameters_gradients_and_states_are_seen_at_every_level(tmp_path: Any) -> None:
    for level in LEVELS:
        recorder, _ = recorded(level, train_cnn, tmp_path)
        aliases = {recorder.tensors[t]["alias"] for t in recorder.iterations[5]["seen"]}
        assert {"grad(Cnn/conv/weight)", "grad(Cnn/norm/bias)", "grad(Cnn/out/bias)"} <= aliases
        seen = recorder.seen_in(5)
        assert {"Cnn/conv/weight", "update/Cnn/conv/SGD-op1:0", "update/Cnn/conv/SGD-op1:1"} <= set(seen)
        assert seen["update/Cnn/out/SGD-op1:0"]["hash"] == recorder.seen_in(6)["Cnn/out/weight"]["hash"]

"""Records a training function of a test into the fake recorder, in this process."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Callable, Iterable
from unittest import mock

import fake_record
import torch
from torch import nn

import msdbg

LEVELS = ("train", "modules", "ops")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.tanh(self.first(x)))


def recorded(level: str, train: Callable[[], Any], tmp: Any) -> tuple[fake_record.Recorder, Any]:
    """The recorder, which has checked every call, and what `train` returned."""
    fake_record.last = None
    with mock.patch.dict(os.environ, MSDBG_RECORD_MODULE="fake_record", MSDBG_STRICT="1"):
        with msdbg.record(str(tmp / "run.msdbg"), level):
            result = train()
    assert fake_record.last is not None, "nothing was recorded"
    return fake_record.last, result


def state_of(model: torch.nn.Module, *optimizers: torch.optim.Optimizer) -> str:
    """All bits that training has: parameters, buffers, optimizer states, random numbers."""
    digest = hashlib.sha256()

    def add(thing: Any) -> None:
        if isinstance(thing, torch.Tensor):
            digest.update(fake_record.raw(thing.detach().contiguous()))
        elif isinstance(thing, dict):
            for key in thing:
                digest.update(str(key).encode())
                add(thing[key])
        elif isinstance(thing, (list, tuple)):
            for item in thing:
                add(item)
        else:
            digest.update(repr(thing).encode())

    add(dict(model.state_dict()))
    for optimizer in optimizers:
        add(optimizer.state_dict())
    add(torch.get_rng_state())
    return digest.hexdigest()


def names(nodes: Iterable[dict[str, Any]]) -> list[str]:
    return [node["name"] for node in nodes]


def derived_share(recorder: fake_record.Recorder) -> float:
    """Of backward operators: how many say what they come from, a forward node or a parameter."""
    backward = [node for node in recorder.nodes if node["phase"] == "backward" and node["domain"] == "aten"]
    known = [node for node in backward if node["derived_from"] >= 0 or "/AccumulateGrad/" in node["name"]]
    return len(known) / max(1, len(backward))

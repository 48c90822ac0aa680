"""The engine's mixed precision beside torch.autocast: the same parameters, the same batch, the same casts.

What is rounded to 16 bits differs by one step where a float32 sum of another order lies beside the middle of two.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch.nn import functional

from built import MSDBG

PARAMETERS = [f"network/{layer}/{name}" for layer in ("conv1", "conv2", "fc1", "fc2", "fc3") for name in ("weight", "bias")]


@pytest.fixture(scope="module", params=["bf16", "fp16"])
def run(request: Any, tmp_path_factory: Any) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("precision") / "run.msdbg"
    words = ["dump", "lenet5", "--batch", "16", "--steps", "3", "--threads", "1", "--precision", request.param]
    subprocess.run([MSDBG, *words, "-o", folder], check=True, capture_output=True)
    return request.param, folder


def read(folder: Path, tensor: str, iteration: int) -> torch.Tensor:
    """As float32, whatever it was recorded in."""
    file = folder.parent / "value.npy"
    file.unlink(missing_ok=True)
    words = ["show", folder, "--tensor", tensor, "--iteration", str(iteration), "--npy", file]
    subprocess.run([MSDBG, *map(str, words)], check=True, capture_output=True)
    array = numpy.load(file)
    return torch.from_numpy(array if array.dtype != numpy.float16 else array.astype(numpy.float32))


def model(weights: dict[str, torch.Tensor], x: torch.Tensor) -> dict[str, torch.Tensor]:
    seen = {}
    h = x
    for layer, pad in (("conv1", 2), ("conv2", 0)):
        w, b = weights[f"network/{layer}/weight"], weights[f"network/{layer}/bias"]
        seen[f"network/{layer}/Conv-op1"] = h = functional.conv2d(h, w, b, padding=pad)
        h = functional.max_pool2d(functional.relu(h), 2)
    h = h.flatten(1)
    for layer in ("fc1", "fc2", "fc3"):
        w, b = weights[f"network/{layer}/weight"], weights[f"network/{layer}/bias"]
        seen[f"network/{layer}/Gemm-op1"] = h = functional.linear(h, w, b)
        if layer != "fc3":
            h = functional.relu(h)
    seen["logits"] = h
    return seen


def close(ours: torch.Tensor, theirs: torch.Tensor, epsilon: float) -> None:
    """Two steps of 16 bits, of the number or of the largest one that it is summed from."""
    bound = 2 * epsilon * (theirs.abs() + theirs.abs().max() / 16)
    worst = ((ours - theirs).abs() / bound).max()
    assert worst <= 1, f"{worst} times the bound"


def test_values_loss_gradients_and_update_are_those_of_autocast(run: tuple[str, Path]) -> None:
    precision, folder = run
    lower = torch.bfloat16 if precision == "bf16" else torch.float16
    epsilon = torch.finfo(lower).eps
    weights = {name: read(folder, name, 2).requires_grad_() for name in PARAMETERS}
    x, label = read(folder, "network/x", 2), read(folder, "network/label", 2)
    with torch.autocast("cpu", dtype=lower):
        seen = model(weights, x)
        loss = functional.cross_entropy(seen.pop("logits"), label)
    scale = 65536.0 if precision == "fp16" else 1.0
    (loss * scale).backward()
    for name, theirs in seen.items():
        assert theirs.dtype == lower
        ours = read(folder, name, 2)
        close(ours, theirs.detach().float(), epsilon)
        equal = (ours == theirs.float()).float().mean().item()
        least = 0.99 if "conv1" in name else 0.9  # further on they read what differs already
        assert equal > least, f"{name}: {equal:.3f} are equal"
    assert read(folder, "loss", 2).item() == pytest.approx(loss.item(), rel=1e-3)
    for name, weight in weights.items():
        theirs = weight.grad / scale
        ours = read(folder, f"grad({name})", 2)
        error = ((ours - theirs).norm() / theirs.norm()).item()
        assert error < 8 * epsilon, f"grad({name}) is {error / epsilon:.1f} steps away"
        momentum = 0.9 * read(folder, f"momentum({name})", 2) + ours
        after = read(folder, f"next({name})", 2)
        assert torch.allclose(after, weight.detach() - 0.01 * momentum, rtol=1e-6, atol=1e-8)

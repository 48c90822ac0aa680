"""Trains a small network on drawn digits, on one or several ranks, and goes wrong: which line is it?

    msdbg dump --level ops -- torchrun --standalone --nproc-per-node 2 pytorch_digits.py
    msdbg check

Nothing in here knows of msdbg. In step 7 rank 1 draws a batch of pixels from 0 to 255 instead of 0 to 1.
"""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH, SIDE, CLASSES = 12, 64, 8, 10


class Digits(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, padding=1)
        self.norm = nn.GroupNorm(4, 16)
        self.hidden = nn.Linear(16 * SIDE * SIDE, 64)
        self.head = nn.Linear(64, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features = torch.relu(self.conv(images))
        scale = self.norm(features).sigmoid()
        return self.head(torch.relu(self.hidden((features * scale).flatten(1))))


def smoothed_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross entropy by hand: what is sure of one class has a probability of 0 elsewhere, and log(0) is -inf."""
    probabilities = torch.softmax(logits, dim=1)
    wanted = nn.functional.one_hot(labels, CLASSES).float()
    return -(wanted * torch.log(probabilities)).sum(1).mean()


def batch(step: int, rank: int, shapes: torch.Tensor) -> tuple:
    random = torch.Generator().manual_seed(1000 * step + rank)
    labels = torch.randint(0, CLASSES, (BATCH,), generator=random)
    images = (shapes[labels] + 0.3 * torch.rand(BATCH, 1, SIDE, SIDE, generator=random)).clamp(0, 1)
    if step == 7 and rank == 1:
        images = images * 255  # read from another file, by another function
    return images, labels


def main() -> None:
    rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(0)
    shapes = (torch.rand(CLASSES, 1, SIDE, SIDE) > 0.6).float()
    model = Digits()
    trained = DistributedDataParallel(model) if ranks > 1 else model
    optimizer = torch.optim.AdamW(trained.parameters(), lr=3e-3)
    for step in range(STEPS):
        images, labels = batch(step, rank, shapes)
        loss = smoothed_loss(trained(images), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(trained.parameters(), 1.0)
        optimizer.step()
        if rank == 0:
            print(f"step {step}  loss {loss.item():.4f}", flush=True)
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""Residual blocks with dropout whose activations are computed again in the backward pass."""

import argparse

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Dropout(nn.Module):
    """Ours, because its rate follows a schedule."""

    def __init__(self):
        super().__init__()
        self.rate = 0.1

    def forward(self, x):
        if not self.training:
            return x
        keep = (torch.rand_like(x) >= self.rate).to(x.dtype)
        return x * keep / (1.0 - self.rate)  # BUG:dropout_of_one


class Block(nn.Module):
    def __init__(self, width, bug):
        super().__init__()
        self.bug = bug
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.drop = Dropout()
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        h = self.up(self.norm(x))
        if self.bug == "softplus_by_hand":
            h = torch.log(1 + torch.exp(h * 60))  # BUG:softplus_by_hand
        else:
            h = nn.functional.softplus(h)
        if self.bug == "residual_grows":
            return x * 40 + self.down(self.drop(h))  # BUG:residual_grows
        return x + self.down(self.drop(h))


class Tower(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.stem = nn.Linear(10, 48)
        self.blocks = nn.ModuleList([Block(48, bug) for _ in range(6)])
        self.head = nn.Linear(48, 1)

    def forward(self, x):
        x = self.stem(x)  # BUG:missing_value
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(x).squeeze(-1)


def main(args):
    torch.manual_seed(args.seed)
    model = Tower(args.bug)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_fn = nn.SmoothL1Loss()
    for step in range(args.steps):
        x = torch.rand(48, 10) * 2 - 1
        y = (x[:, 0] * x[:, 1] * 2 + x[:, 2:5].sum(1)).clone()
        if args.bug == "missing_value" and step == 11:
            x[20, 6] = float("nan")  # BUG:missing_value
        if args.bug == "dropout_of_one":
            for block in model.blocks:
                block.drop.rate = min(1.0, step / 12)
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step:3d} | loss {loss.item():.5f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--bug",
        default="",
        choices=["", "dropout_of_one", "softplus_by_hand", "residual_grows", "missing_value"],
    )
    main(parser.parse_args())

"""Regression in float16 with autocast; GradScaler grows its scale until it skips a step, as it should."""

import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument(
    "--bug", default="", choices=["", "not_unscaled", "half_overflow", "clip_scaled", "unscaled_twice"]
)
args = parser.parse_args()

torch.manual_seed(args.seed)
teacher = torch.randn(16, 1)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(self.body(x))


net = Regressor()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.5)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16, growth_interval=4)

for epoch in range(args.steps):
    x = torch.randn(64, 16)
    y = torch.tanh(x @ teacher * 0.3)
    if args.bug == "half_overflow" and epoch >= 5:
        y = y * 1000.0
    with torch.autocast("cpu", dtype=torch.float16):
        prediction = net(x)
        if args.bug == "half_overflow":
            loss = (prediction - y.half()).square().float().mean()  # BUG:half_overflow
        else:
            loss = nn.functional.mse_loss(prediction.float(), y)
    optimizer.zero_grad()
    if args.bug == "not_unscaled":  # scaled by hand, because of the clipping
        (loss * 1024).backward()
        optimizer.step()  # BUG:not_unscaled
        print(f"epoch {epoch} loss {loss.item():.5f}")
        continue
    scaler.scale(loss).backward()
    if args.bug == "clip_scaled":
        nn.utils.clip_grad_norm_(net.parameters(), 1e-2)  # BUG:clip_scaled
        scaler.step(optimizer)  # BUG:clip_scaled
    elif args.bug == "unscaled_twice":
        scaler.unscale_(optimizer)
        for p in net.parameters():
            p.grad /= scaler.get_scale()  # BUG:unscaled_twice
        scaler.step(optimizer)  # BUG:unscaled_twice
    else:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        scaler.step(optimizer)
    scaler.update()
    print(f"epoch {epoch} loss {loss.item():.5f} scale {scaler.get_scale():.0f}")

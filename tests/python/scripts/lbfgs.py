"""Counts fitted by a small network with L-BFGS: every step calls the closure several times."""

import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--bug", default="", choices=["", "log_negative", "no_zero_grad", "lr_30"])
args = parser.parse_args()
torch.manual_seed(args.seed)

x = torch.linspace(-2, 2, 80).unsqueeze(1)
rate = torch.exp(1.0 + torch.sin(2 * x))
y = torch.poisson(rate)


class Rate(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x):
        return self.net(x)


model = Rate()
lr = 30.0 if args.bug == "lr_30" else 0.5  # BUG:lr_30
optimizer = torch.optim.LBFGS(model.parameters(), lr=lr, max_iter=5, history_size=10)  # BUG:lr_30


def poisson_loss(output):
    if args.bug == "log_negative":
        return (output - y * torch.log(output)).mean()  # BUG:log_negative
    return (torch.exp(output) - y * output).mean()  # BUG:lr_30


def closure():
    if args.bug != "no_zero_grad":
        optimizer.zero_grad()
    loss = poisson_loss(model(x))
    loss.backward()  # BUG:no_zero_grad
    return loss


for step in range(args.steps):
    loss = optimizer.step(closure)  # BUG:lr_30,no_zero_grad
    print("step", step, "loss", loss.item())

"""The model goes through torch.compile (aot_eager: the graphs are captured, no C++ compiler is needed)."""

import argparse

import torch
import torch.nn as nn


class Mixer(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.inp = nn.Linear(16, 48)
        self.mix = nn.ModuleList([nn.Linear(48, 48) for _ in range(3)])
        self.out = nn.Linear(48, 3)

    def forward(self, x):
        x = torch.tanh(self.inp(x))
        for layer in self.mix:
            x = x + torch.nn.functional.gelu(layer(x))
        if self.bug == "inverse_norm":
            x = x * (x[:, :1] - x[:, :1]).abs().rsqrt()  # BUG:inverse_norm
        return self.out(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bug", default="", choices=["", "inverse_norm", "lr_300"])
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = Mixer(args.bug)
    compiled = torch.compile(model, backend="aot_eager")
    lr = 300.0 if args.bug == "lr_300" else 3e-3  # BUG:lr_300
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)  # BUG:lr_300
    plane = torch.randn(16, 3)
    for step in range(args.steps):
        x = torch.randn(64, 16)
        y = (x @ plane).argmax(1)
        loss = nn.functional.cross_entropy(compiled(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # BUG:lr_300
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

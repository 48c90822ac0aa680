"""Gradients of four small batches add up before each step of the optimizer."""

import argparse

import torch
from torch import nn, optim

ACCUMULATE = 4


class Classifier(nn.Module):
    def __init__(self, bug):
        super().__init__()
        act = nn.ReLU
        if bug == "sigmoids":
            act = nn.Sigmoid  # BUG:sigmoids
        layers, width = [], 20
        for _ in range(3 if bug != "sigmoids" else 12):
            layers += [nn.Linear(width, 40), act()]  # BUG:sigmoids
            width = 40
        self.hidden = nn.Sequential(*layers)
        self.head = nn.Linear(40, 6)

    def forward(self, x):
        return self.head(self.hidden(x))  # BUG:sigmoids


def batches(count, seed):
    """Six clouds of points."""
    rng = torch.Generator().manual_seed(seed)
    centres = torch.randn(6, 20, generator=rng) * 1.5
    for _ in range(count):
        label = torch.randint(0, 6, (16,), generator=rng)
        yield centres[label] + torch.randn(16, 20, generator=rng), label


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=30)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--bug", default="", choices=["", "clip_typo", "sigmoids", "micro_nan", "weight_zero"])
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    model = Classifier(args.bug)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.2)

    running = 0.0
    for i, (x, y) in enumerate(batches(args.steps * ACCUMULATE, args.seed + 1)):
        logits = model(x)
        loss = criterion(logits, y) / ACCUMULATE
        if args.bug == "micro_nan" and i == 9 * ACCUMULATE + 2:
            hard = logits.softmax(1).max(1).values > 1.0  # nobody is so sure
            loss = logits[hard].pow(2).mean()  # BUG:micro_nan
        if args.bug == "weight_zero":
            keep = (y > 5).float()  # classes counted from 1
            loss = (keep * nn.functional.cross_entropy(logits, y, reduction="none")).mean()  # BUG:weight_zero
        loss.backward()  # BUG:weight_zero
        running += loss.item()
        if (i + 1) % ACCUMULATE == 0:
            if args.bug == "clip_typo":
                nn.utils.clip_grad_norm_(model.parameters(), max_norm=1e-8)  # BUG:clip_typo
            else:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()  # BUG:clip_typo
            optimizer.zero_grad()
            print(f"update {i // ACCUMULATE} loss {running:.4f}")
            running = 0.0


if __name__ == "__main__":
    main()

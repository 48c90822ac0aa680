"""Trains well until a batch that does not fit: what happens to a run that ends by an exception."""

import argparse

import torch
import torch.nn as nn


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 12), nn.ReLU(), nn.Linear(12, 5))
        self.decoder = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 20))

    def forward(self, x):
        return self.decoder(self.encoder(x))  # BUG:short_record


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bug", default="", choices=["", "short_record", "assertion"])
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    mixing = torch.randn(5, 20)
    model = Autoencoder()
    optimizer = torch.optim.NAdam(model.parameters(), lr=5e-3)
    for step in range(args.steps):
        x = torch.randn(64, 5) @ mixing
        if args.bug == "short_record" and step == 12:
            x = x[:, :19]
        if args.bug == "assertion" and step == 20:
            x = x[:48]  # the last batch of an epoch
        loss = nn.functional.mse_loss(model(x), x)
        if args.bug == "assertion":
            assert len(x) == 64, f"a batch of {len(x)}"  # BUG:assertion
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()

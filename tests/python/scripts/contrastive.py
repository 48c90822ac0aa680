"""SimCLR-like: two noisy views of each sample should lie together."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument(
    "--bug", default="", choices=["", "zero_vector", "temperature_zero", "mask_inverted", "exp_overflow"]
)
args = parser.parse_args()
torch.manual_seed(args.seed)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Linear(32, 64, bias=False), nn.ReLU(), nn.Linear(64, 64, bias=False), nn.ReLU()
        )
        self.projector = nn.Linear(64, 16, bias=False)

    def forward(self, x):
        return self.projector(self.backbone(x))


def nt_xent(a, b, temperature):
    z = torch.cat([a, b])
    if args.bug == "zero_vector":
        z = z / z.norm(dim=1, keepdim=True)  # BUG:zero_vector
    else:
        z = F.normalize(z, dim=1)
    similarity = z @ z.T / temperature  # BUG:temperature_zero
    n = len(a)
    self_pairs = torch.eye(2 * n, dtype=torch.bool)
    if args.bug == "mask_inverted":
        self_pairs = ~self_pairs  # BUG:mask_inverted
    similarity = similarity.masked_fill(self_pairs, float("-inf"))  # BUG:mask_inverted
    target = torch.arange(2 * n).roll(n)
    if args.bug == "exp_overflow":
        e = torch.exp(similarity)  # BUG:exp_overflow
        return -torch.log(e[torch.arange(2 * n), target] / e.sum(1)).mean()
    return F.cross_entropy(similarity, target)  # BUG:mask_inverted


encoder = Encoder()
optimizer = torch.optim.AdamW(encoder.parameters(), lr=2e-3, weight_decay=1e-4)
basis = torch.randn(10, 32)
for step in range(args.steps):
    temperature = 0.2
    if args.bug == "temperature_zero":
        temperature = max(0.0, 0.2 - 0.02 * step)  # BUG:temperature_zero
    if args.bug == "exp_overflow":
        temperature = 0.2 / 1.5**step
    sample = torch.randn(64, 10) @ basis
    if args.bug == "zero_vector" and step == 8:
        sample[17] = 0.0  # an empty recording
    noisy = [sample + 0.3 * torch.randn_like(sample) * (sample != 0) for _ in range(2)]
    loss = nt_xent(encoder(noisy[0]), encoder(noisy[1]), temperature)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"Step {step}: contrastive loss {loss.item():.4f}")

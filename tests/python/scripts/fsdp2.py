"""Parameters sharded over ranks with fully_shard (FSDP2): torchrun --nproc-per-node 2 fsdp2.py"""

import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh

try:
    from torch.distributed.fsdp import fully_shard
except ImportError:  # before 2.6
    from torch.distributed._composable.fsdp import fully_shard

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--bug", default="", choices=["", "rank1_nan", "lr_1000", "log_of_zero"])
args = parser.parse_args()


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.w1, self.w2, self.w3 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim), nn.Linear(dim, 2 * dim)

    def forward(self, x):
        h = self.norm(x)
        gate = nn.functional.silu(self.w1(h))
        return x + self.w2(gate * self.w3(h))


class Model(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Linear(8, dim)
        self.layers = nn.ModuleList([FeedForward(dim) for _ in range(3)])
        self.head = nn.Linear(dim, 5)

    def forward(self, x):
        x = self.embed(x)  # BUG:rank1_nan
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


dist.init_process_group("gloo")
rank = dist.get_rank()
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
torch.manual_seed(args.seed)
model = Model()
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
lr = 1e3 if args.bug == "lr_1000" else 3e-3  # BUG:lr_1000
optimizer = torch.optim.AdamW(model.parameters(), lr=lr)  # BUG:lr_1000
centres = torch.randn(5, 8)
torch.manual_seed(args.seed + 1 + rank)
for step in range(args.steps):
    y = torch.randint(0, 5, (32,))
    x = centres[y] + 0.5 * torch.randn(32, 8)
    if args.bug == "rank1_nan" and rank == 1 and step == 5:
        x[9, 1] = float("nan")  # BUG:rank1_nan
    logits = model(x)
    if args.bug == "log_of_zero" and step >= 7:
        loss = -torch.log(torch.softmax(100 * logits, 1))[torch.arange(32), y - 1].mean()  # BUG:log_of_zero
    else:
        loss = nn.functional.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # BUG:lr_1000
    print(f"[{rank}] step {step} loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()

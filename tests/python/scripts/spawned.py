"""Two ranks that the script starts itself, with torch.multiprocessing.spawn."""

import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1, self.relu, self.net2 = nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def train(rank, world_size, port, args):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    weights = torch.randn(10, 5)
    torch.manual_seed(args.seed + 10 + rank)
    for step in range(args.steps):
        x = torch.randn(30, 10)
        labels = torch.tanh(x @ weights)
        output = model(x)
        if args.bug == "rank1_root" and rank == 1 and step == 7:
            output = torch.sqrt(output)  # BUG:rank1_root
        loss = nn.functional.mse_loss(output, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"rank {rank} step {step} loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bug", default="", choices=["", "rank1_root"])
    options = parser.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free = s.getsockname()[1]
    mp.spawn(train, args=(2, free, options), nprocs=2)

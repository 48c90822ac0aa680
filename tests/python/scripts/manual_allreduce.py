"""Data parallel by hand, with all_reduce: torchrun --nproc-per-node 2 manual_allreduce.py"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn


def average_gradients(model, rank, world, bug):
    for p in model.parameters():
        if bug == "rank1_keeps_its_own":
            total = p.grad.clone()
            dist.all_reduce(total)
            if rank == 0:  # "only once is enough"
                p.grad.copy_(total / world)  # BUG:rank1_keeps_its_own
            continue
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
        if bug == "rank0_divides":
            if rank == 0:
                p.grad /= world  # BUG:rank0_divides
        else:
            p.grad /= world


def run(rank, world, args):
    torch.manual_seed(args.seed)
    if args.bug == "seed_per_rank":
        torch.manual_seed(args.seed + rank)  # BUG:seed_per_rank
    model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    rng = torch.Generator().manual_seed(args.seed * 100 + rank)
    for step in range(args.steps):
        x = torch.rand(40, 6, generator=rng) * 2 - 1
        y = (x[:, :1] * x[:, 1:2] + 0.5 * x[:, 2:3]).detach()
        if args.bug == "rank1_infinite" and rank == 1 and step == 12:
            y = y / y.round()  # BUG:rank1_infinite
        out = model(x)  # BUG:seed_per_rank
        loss = nn.functional.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        average_gradients(model, rank, world, args.bug)
        optimizer.step()  # BUG:rank1_keeps_its_own,rank0_divides
        print(f"rank {rank} step {step} loss {loss.item():.5f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--bug",
        default="",
        choices=["", "rank1_keeps_its_own", "rank0_divides", "seed_per_rank", "rank1_infinite"],
    )
    dist.init_process_group("gloo")
    run(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), parser.parse_args())
    dist.destroy_process_group()

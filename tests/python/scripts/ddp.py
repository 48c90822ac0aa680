"""Two ranks or more with DistributedDataParallel: torchrun --nproc-per-node 2 ddp.py"""

import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument(
    "--bug",
    default="",
    choices=[
        "",
        "rank1_nan",
        "module_called",
        "no_sampler",
        "schedule_on_rank0",
        "rank1_log",
        "rank1_big",
        "lr_500",
    ],
)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc1 = nn.Linear(8 * 36, 64)
        self.fc2 = nn.Linear(64, 4)

    def forward(self, x):
        x = torch.relu(self.conv(x))  # BUG:rank1_nan,rank1_big,no_sampler
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def corners(count):
    """A bright spot in one of four corners."""
    label = torch.randint(0, 4, (count,))
    image = 0.5 * torch.randn(count, 1, 12, 12)
    for i, k in enumerate(label.tolist()):
        image[i, 0, 6 * (k // 2) + 1 : 6 * (k // 2) + 4, 6 * (k % 2) + 1 : 6 * (k % 2) + 4] += 1.0
    return nn.functional.avg_pool2d(image, 2), label


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)
    dataset = TensorDataset(*corners(16 * world * args.steps))
    sampler = DistributedSampler(dataset, shuffle=False)
    if args.bug == "no_sampler":
        loader = DataLoader(dataset, batch_size=16)  # BUG:no_sampler
    else:
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
    model = DDP(Net())
    lr = 500.0 if args.bug == "lr_500" else 0.1  # BUG:lr_500
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)  # BUG:lr_500
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.7)
    for step, (x, y) in enumerate(loader):
        if step == args.steps:
            break
        if args.bug == "rank1_nan" and step == 6 and rank == 1:
            x[4, 0, 2, 2] = float("nan")  # BUG:rank1_nan
        if args.bug == "rank1_big" and step >= 4 and rank == 1:
            x = x * 65536.0  # BUG:rank1_big
        if args.bug == "module_called":
            output = model.module(x)  # BUG:module_called
        else:
            output = model(x)  # BUG:no_sampler
        loss = nn.functional.cross_entropy(output, y)
        if args.bug == "rank1_log" and rank == 1 and step == 9:
            confidence = torch.softmax(output * 1e3, 1)
            loss = loss - 0.01 * (confidence * torch.log(confidence)).sum(1).mean()  # BUG:rank1_log
        optimizer.zero_grad()
        loss.backward()  # BUG:module_called
        optimizer.step()  # BUG:lr_500,module_called,schedule_on_rank0
        if args.bug == "schedule_on_rank0":
            if rank == 0:
                scheduler.step()  # BUG:schedule_on_rank0
        else:
            scheduler.step()
        print(f"[rank {rank}] step {step} loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

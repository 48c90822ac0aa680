"""torchrun --max-restarts=1: rank 1 is killed in step 6 of attempt 1; attempt 2 goes on from the checkpoint of step 4.

The ranks meet in a file of each attempt: torch 2.15 leaves the addresses of attempt 1 in torchrun's own store, where
gloo waits for them (tried without msdbg).
"""
import os
import signal
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F

FOLDER = sys.argv[1]
ATTEMPT = os.environ["TORCHELASTIC_RESTART_COUNT"]


def main():
    dist.init_process_group("gloo", init_method=f"file://{FOLDER}/store{ATTEMPT}", rank=int(os.environ["RANK"]),
                            world_size=int(os.environ["WORLD_SIZE"]))
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    model = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    checkpoint, first = f"{FOLDER}/checkpoint.pt", 0
    if os.path.exists(checkpoint):
        saved = torch.load(checkpoint)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["step"]
    for step in range(first, 12):
        x = torch.randn(16, 8, generator=torch.Generator().manual_seed(100 * rank + step))
        loss = F.cross_entropy(model(x), x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 3 and rank == 0:
            torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}, checkpoint)
        if step == 6 and rank == 1 and ATTEMPT == "0":
            os.kill(os.getpid(), signal.SIGKILL)
    dist.destroy_process_group()


main()

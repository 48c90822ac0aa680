#!/usr/bin/python3
"""What PyTorch's process takes to train a peer's model. torch_memory.py PEERS MODEL THREADS; prints JSON.

growth_mb: resident memory from before the model was made (torch loaded, its BLAS and threads started) to the most
while training, as `msdbg bench` counts its own.
"""
import json
import sys

peers, name, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.path.insert(0, peers)
sys.dont_write_bytecode = True  # the peers are not ours to write to
import torch_env
torch_env.setup(threads, "tuned")

import torch
import torch_models


def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))


torch.set_num_threads(threads)
torch.manual_seed(0)
a = torch.rand(256, 256, requires_grad=True)
(a @ a).sum().backward()
data = list(torch_models.batches(name, n=3))
before = status("VmRSS")
model = torch_models.MODELS[name][0]()
optimiser = torch_models.optimiser(name, model)
for step in range(10):
    x, y = data[step % len(data)]
    optimiser.zero_grad(set_to_none=True)
    torch_models.loss_fn(model(x), y).backward()
    optimiser.step()
print(json.dumps({"model": name, "growth_mb": (status("VmHWM") - before) / 1e6}))

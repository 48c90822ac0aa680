#!/usr/bin/python3
"""A peer's training step in the PyTorch of the interpreter that runs this: eager, channels last, compiled.

  PYTHON torch_step.py PEERS MODEL THREADS STEPS

Prints JSON: the version, and the least and median milliseconds of each way. For PyTorch from PyPI, which brings its
own BLAS; ../shared/peers/torch_train.py runs Debian's.
"""
import json
import os
import statistics
import sys
import time

peers, name, threads, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if os.environ.get("OMP_NUM_THREADS") != str(threads):
    os.execve(sys.executable, [sys.executable, *sys.argv], dict(os.environ, OMP_NUM_THREADS=str(threads)))
sys.path.insert(0, peers)
sys.dont_write_bytecode = True  # the peers are not ours to write to

import torch
import torch_models

WARM_UP = 5


def measure(last=False, compiled=False):
    torch.manual_seed(0)
    model = torch_models.MODELS[name][0]()
    data = list(torch_models.batches(name))
    if last:
        model = model.to(memory_format=torch.channels_last)
        data = [(x.contiguous(memory_format=torch.channels_last), y) for x, y in data]
    optimiser = torch_models.optimiser(name, model)
    forward = torch.compile(model) if compiled else model
    times = []
    for i in range(WARM_UP + steps):
        x, y = data[i % len(data)]
        begin = time.perf_counter()
        optimiser.zero_grad(set_to_none=True)
        loss = torch_models.loss_fn(forward(x), y)
        loss.backward()
        optimiser.step()
        float(loss.detach())
        times.append(1e3 * (time.perf_counter() - begin))
    return {"min_ms": min(times[WARM_UP:]), "median_ms": statistics.median(times[WARM_UP:])}


torch.set_num_threads(threads)
ways = {"eager": measure(), "compiled": measure(compiled=True)}
if name not in ("mlp", "gpt"):
    ways["channels_last"] = measure(last=True)
    ways["channels_last_compiled"] = measure(last=True, compiled=True)
print(json.dumps({"torch": torch.__version__, "model": name, **ways}))

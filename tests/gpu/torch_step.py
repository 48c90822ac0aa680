#!/usr/bin/env python3
"""A peer's training step on a GPU, eager, in the PyTorch of the interpreter that runs this.

  PYTHON torch_step.py PEERS MODEL STEPS

A step is what `msdbg bench` times: the batch goes to the device, forward, backward, update, and the loss comes back.
Prints four numbers: median and least milliseconds in float32, as msdbg computes, then both as PyTorch is installed
(TF32 in convolutions). Status 77 and a line: there is no PyTorch with CUDA, or no such peer.
"""
import os
import statistics
import sys
import time

WARM_UP = 10


def skip(why):
    print(why)
    sys.exit(77)


def batches(peer, name, torch):
    try:
        return list(peer.batches(name))
    except (RuntimeError, ValueError):  # without Debian's licences there is no text to draw from: any does for time
        rows = torch.randint(0, 128, (8, 16, 129))
        return [(row[:, :-1].contiguous(), row[:, 1:].contiguous()) for row in rows]


def measure(peer, name, steps, torch):
    torch.manual_seed(0)
    model = peer.MODELS[name][0]().cuda()
    data = [(x.pin_memory(), y.pin_memory()) for x, y in batches(peer, name, torch)]
    optimiser = peer.optimiser(name, model)
    times = []
    for i in range(WARM_UP + steps):
        x, y = data[i % len(data)]
        begin = time.perf_counter()
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        optimiser.zero_grad(set_to_none=True)
        loss = peer.loss_fn(model(x), y)
        loss.backward()
        optimiser.step()
        loss.item()
        times.append(1e3 * (time.perf_counter() - begin))
    times = times[WARM_UP:]
    return [statistics.median(times), min(times)]


def main():
    peers, name, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    sys.dont_write_bytecode = True  # the peers are not ours to write to
    sys.path.insert(0, peers)
    if not os.path.exists(os.path.join(peers, "torch_models.py")):
        skip(f"no PyTorch models in '{peers}'")
    try:
        import torch
        import torch_models as peer
    except ImportError as error:
        skip(str(error))
    if not torch.cuda.is_available():
        skip("PyTorch has no CUDA here")
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    numbers = measure(peer, name, steps, torch)
    torch.backends.cudnn.allow_tf32 = True
    numbers += measure(peer, name, steps, torch)
    print(*(f"{number:.3f}" for number in numbers))


main()

"""What bench.py times: a plain training program that measures its own steps, so that starting costs nothing.

python bench_program.py --model gpt4x128 --port P [--debug-mode | --msprobe TASK] [--load MODULE]: trains as many steps
as each line that it gets over the port says, and answers with their times. By hand: --steps 30, which prints them.
"""

import argparse
import contextlib
import importlib
import json
import math
import os
import socket
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.c_attn(x).split(c, dim=2)
        )
        att = (q @ k.transpose(-2, -1)) / math.sqrt(c // self.heads)
        hidden = torch.ones(t, t, dtype=torch.bool).triu(1)
        att = F.softmax(att.masked_fill(hidden, float("-inf")), dim=-1)
        return self.c_proj((att @ v).transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(width), Attention(width, heads), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, layers, width, heads, context, vocabulary=256):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.h = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x)).flatten(0, 1)


def mlp():
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    return (
        model,
        torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
        lambda: (torch.randn(64, 784), torch.randint(0, 10, (64,))),
    )


def cnn():
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 64, 10),
    )
    return (
        model,
        torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
        lambda: (torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,))),
    )


def gpt(layers, width, heads, batch, context):
    model = GPT(layers, width, heads, context)
    return (
        model,
        torch.optim.AdamW(model.parameters(), lr=3e-4),
        lambda: (torch.randint(0, 256, (batch, context)), torch.randint(0, 256, (batch * context,))),
    )


MODELS = {
    "mlp": mlp,
    "cnn": cnn,
    "gpt4x128": lambda: gpt(4, 128, 4, 8, 64),
    "gpt4x128-bf16": lambda: gpt(4, 128, 4, 8, 64),
    "gpt6x384": lambda: gpt(6, 384, 6, 8, 128),
}


def watched_memory(model, optimizer):
    """(bytes, tensors) of parameters, gradients and states: what level train must read in each step."""
    tensors = []
    for p in model.parameters():
        states = [s for s in optimizer.state.get(p, {}).values() if isinstance(s, torch.Tensor)]
        tensors += [p, p.grad if p.grad is not None else p, *states]
    return sum(t.numel() * t.element_size() for t in tensors), len(tensors)


def hooks():
    """Global hooks and dispatch modes that are there before training: none, when nothing is recorded."""
    module = torch.nn.modules.module
    optimizer = importlib.import_module("torch.optim.optimizer")  # which torch.optim hides
    names = [n for n in vars(module) if n.startswith("_global_") and n.endswith("hooks")]
    count = sum(len(getattr(module, n)) for n in names)
    count += sum(
        len(getattr(optimizer, n, ()))
        for n in ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks")
    )
    return count + torch._C._len_torch_dispatch_stack()


def debug_mode():
    try:
        from torch.utils._debug_mode import DebugMode
    except ImportError:
        raise SystemExit("this torch has no DebugMode (2.10 and newer have)") from None
    return DebugMode()


@contextlib.contextmanager
def msprobe_step(debugger, model):
    """One step as msProbe's manual has it: what it computes and writes between the calls belongs to the step."""
    debugger.start(model=model)
    yield
    debugger.stop()
    debugger.step()


def msprobe(task, folder, model):
    """What each step of `model` runs in: modules and functions, forward and backward, by msProbe's hooks (level mix)."""
    try:
        from msprobe.pytorch import PrecisionDebugger
    except ImportError:
        raise SystemExit("msProbe is not there (pip install mindstudio-probe)") from None
    path = os.path.join(folder, "msprobe.json")
    with open(path, "w") as file:
        json.dump({"task": task, "level": "mix", "dump_path": folder, "rank": [], "step": [],
                   task: {"scope": [], "list": [], "data_mode": ["all"]}}, file)
    debugger = PrecisionDebugger(config_path=path)
    return lambda: msprobe_step(debugger, model)


def step(model, optimizer, batch, low, around):
    """One step's milliseconds of wall clock and of this thread, and its loss; `around` makes what it runs in."""
    x, y = batch()
    with around():
        begin, begin_cpu = time.perf_counter(), time.thread_time()
        with low:
            loss = F.cross_entropy(model(x).float(), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return 1e3 * (time.perf_counter() - begin), 1e3 * (time.thread_time() - begin_cpu), loss


def turns(args):
    """(a file to answer on, how many steps each turn has)."""
    if not args.port:
        return sys.stdout, iter([args.steps])
    connection = socket.create_connection(("localhost", args.port))
    return connection.makefile("w"), map(int, connection.makefile("r"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=sorted(MODELS), required=True)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--debug-mode", action="store_true")
    parser.add_argument("--msprobe", choices=["statistics", "tensor"])
    parser.add_argument("--folder", default=".", help="where msProbe writes")
    parser.add_argument("--load", default="")
    args = parser.parse_args()
    if args.load:
        importlib.import_module(args.load)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, optimizer, batch = MODELS[args.model]()
    low = (
        torch.autocast("cpu", dtype=torch.bfloat16)
        if args.model.endswith("bf16")
        else contextlib.nullcontext()
    )
    # DebugMode keeps all that it saw, so it is entered anew for each step.
    around = debug_mode if args.debug_mode else contextlib.nullcontext
    if args.msprobe:
        around = msprobe(args.msprobe, args.folder, model)
    found = hooks()
    answers, wanted = turns(args)
    for steps in wanted:
        done = [step(model, optimizer, batch, low, around) for _ in range(steps)]
        size, tensors = watched_memory(model, optimizer)
        answer = {
            "pid": os.getpid(),
            "wall_ms": [wall for wall, _, _ in done],
            "cpu_ms": [cpu for _, cpu, _ in done],
            "hooks": found,
            "bytes": size,
            "tensors": tensors,
            "loss": done[-1][2].item(),
        }
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()

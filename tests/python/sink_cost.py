"""What the Python side of a recording costs: step times of a mlp, a cnn and a gpt, plain and recorded.

    python tests/python/sink_cost.py --package build/dev/python [--sink quiet|real] [--steps N] [--profile gpt]

`quiet`: the recorder is tests/python/fake_record.py, which does nothing (no Follower either); `real`: the extension.
Medians of a step, one thread, the configurations of a model interleaved three times, as multiples of the plain one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

MODELS = ("mlp", "cnn", "gpt")
LEVELS = ("", "train", "modules", "ops")


def build(name: str):  # noqa: ANN201
    import torch
    from torch import nn

    torch.manual_seed(0)
    if name == "mlp":
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
        return model, lambda: (torch.randn(64, 64), torch.randint(0, 10, (64,)))
    if name == "cnn":
        model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                              nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
                              nn.Flatten(), nn.Linear(64 * 64, 10))
        return model, lambda: (torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,)))

    class Gpt(nn.Module):
        def __init__(self, width: int = 128, layers: int = 4, heads: int = 4, vocabulary: int = 256) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(64, width)
            layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
            self.head = nn.Linear(width, vocabulary)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            h = self.token(x) + self.place(torch.arange(x.shape[1]))
            return self.head(self.blocks(h, mask=mask)).transpose(1, 2)

    return Gpt(), lambda: (torch.randint(0, 256, (8, 64)), torch.randint(0, 256, (8, 64)))


def train(name: str, steps: int) -> None:
    import time

    import torch

    torch.set_num_threads(1)
    model, batch = build(name)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    times = []
    for _ in range(steps):
        since = time.process_time() if os.environ.get("COST_CPU") else time.perf_counter()
        x, y = batch()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        times.append((time.process_time() if os.environ.get("COST_CPU") else time.perf_counter()) - since)
    print("TIME", statistics.median(times[len(times) // 4:]))


def profiled(name: str, steps: int) -> None:
    import cProfile
    import pstats

    profile = cProfile.Profile()
    profile.runcall(train, name, steps)
    pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def measure(options: argparse.Namespace, name: str, level: str, profile: bool = False) -> float:
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, OMP_NUM_THREADS="1", MSDBG_STRICT="1")
        here = os.path.dirname(os.path.abspath(__file__))
        if level:
            environment.update(MSDBG_DUMP=os.path.join(folder, "run.msdbg"), MSDBG_LEVEL=level,
                               PYTHONPATH=os.pathsep.join([os.path.join(options.package, "inject"), here]))
            if options.sink == "quiet":
                environment.update(MSDBG_RECORD_MODULE="fake_record", MSDBG_FAKE="quiet")
        command = [sys.executable, __file__, "--train", name, "--steps", str(options.steps)]
        done = subprocess.run(command + (["--profiled"] if profile else []), env=environment, text=True,
                              stdout=subprocess.PIPE, check=True)
        if profile:
            print(done.stdout)
        return float(next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("TIME")))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", default="build/dev/python", type=os.path.abspath)
    parser.add_argument("--sink", choices=("quiet", "real"), default="quiet")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--profile", default="")
    parser.add_argument("--train", default="")
    parser.add_argument("--profiled", action="store_true")
    options = parser.parse_args()
    if options.train:
        (profiled if options.profiled else train)(options.train, options.steps)
        return
    if options.profile:
        measure(options, options.profile, "ops", True)
        return
    print(f"{'step':8}{'plain ms':>10}" + "".join(f"{level:>10}" for level in LEVELS[1:]) + f"   sink: {options.sink}")
    for name in options.models.split(","):
        times: dict[str, list[float]] = {level: [] for level in LEVELS}
        for _ in range(3):
            for level in LEVELS:
                times[level].append(measure(options, name, level))
        best = {level: min(values) for level, values in times.items()}
        print(f"{name:8}{best[''] * 1000:10.3f}" + "".join(f"{best[level] / best['']:10.2f}" for level in LEVELS[1:]))


if __name__ == "__main__":
    main()

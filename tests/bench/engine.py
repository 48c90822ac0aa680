#!/usr/bin/python3
"""What the engine is measured against: PyTorch training the same models on the same cores, in one run.

  ./dev bench engine [MODEL…] [--newest PYTHON]

Per model: least and median step of `msdbg bench` and of ../shared/peers/torch_train.py (both its layouts, tuned BLAS;
the faster one counts), in turns; GFLOP/s beside what a matrix product of 2048 reaches in the same process; memory that
a process takes to train (RSS, from before the model was made to the most while training); time until training begins;
least step without groups; time per kernel. PYTHON is another interpreter with a newer PyTorch (a virtual environment
with PyPI's): its steps, eager and compiled, are reported beside. Without Debian's python3-torch (or without the peers)
msdbg's own half is printed.
"""
import argparse
import json
import os
import subprocess
import sys

ROUNDS, STEPS, THREADS = 3, {"mlp": 60, "lenet5": 60}, 2
MODELS = ["mlp", "lenet5", "alexnet", "resnet20", "gpt"]
PYTHON = "/usr/bin/python3"
here = os.path.dirname(os.path.abspath(__file__))
peers = os.path.normpath(os.path.join(here, "../../../shared/peers"))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True,
                          env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    if done.returncode != 0:
        sys.exit(f"benchmark: {' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return json.loads(done.stdout)


def ours(msdbg, model, *more):
    return run([msdbg, "bench", model, "--json", "--threads", str(THREADS), "--steps", str(STEPS.get(model, 10)), *more])


def theirs(model, *more):
    return run([PYTHON, os.path.join(peers, "torch_train.py"), "--model", model, "--threads", str(THREADS),
                "--steps", str(STEPS.get(model, 10)), *more])


def has_torch():
    if not os.path.exists(os.path.join(peers, "torch_train.py")):
        return False
    return subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0


def least(runs, key):
    return min(r[key] for r in runs)


def torch_runs(model):
    plain = theirs(model)
    return [plain] if model in ("mlp", "gpt") else [plain, theirs(model, "--channels-last")]


def measure(msdbg, model, torch):
    mine, peer, apart = [], [], []
    for _ in range(ROUNDS):
        mine.append(ours(msdbg, model))
        apart.append(ours(msdbg, model, "--passes=-groups"))
        if torch:
            peer.extend(torch_runs(model))
    return mine, peer, apart, ours(msdbg, model, "--profile")


def memory(model):
    return run([PYTHON, os.path.join(here, "torch_memory.py"), peers, model, str(THREADS)])


def row(model, mine, peer, apart, profiled):
    step, gflop = least(mine, "min_ms"), mine[0]["gflop_step"]
    cells = [model, f"{step:.2f}", f"{least(mine, 'median_ms'):.2f}"]
    growth = least(mine, "growth_mb")
    if peer:
        other = memory(model)["growth_mb"]
        cells += [f"{least(peer, 'min_ms'):.2f}", f"{least(peer, 'median_ms'):.2f}",
                  f"{step / least(peer, 'min_ms'):.2f}", f"{gflop / least(peer, 'min_ms') * 1e3:.0f}"]
    else:
        cells += ["", "", "", ""]
    peak = profiled["sgemm_gflops"]
    cells += [f"{gflop / step * 1e3:.0f}", f"{gflop / step * 1e5 / peak:.0f} %", f"{growth:.0f}"]
    cells += [f"{other:.0f}", f"{growth / other:.2f}"] if peer else ["", ""]
    return cells + [f"{least(mine, 'start_ms'):.0f}", f"{least(apart, 'min_ms'):.2f}"]


def print_table(rows):
    print("| model | msdbg least ms | median | PyTorch least ms | median | ratio of the least | PyTorch GFLOP/s "
          "| msdbg GFLOP/s | of sgemm | msdbg MB | PyTorch MB | ratio | start ms | without groups |")
    print("|---" * 14 + "|")
    for cells in rows:
        print("| " + " | ".join(cells) + " |")


def newest(python, model):
    return run([python, os.path.join(here, "torch_step.py"), peers, model, str(THREADS), str(STEPS.get(model, 10))])


def print_newest(python, models, results):
    print("\n| model | msdbg least ms | eager least ms | ratio | compiled least ms | ratio | PyTorch |")
    print("|---" * 7 + "|")
    for model in models:
        step, other = least(results[model][0], "min_ms"), newest(python, model)
        cells = [model, f"{step:.2f}"]
        for ways in (("eager", "channels_last"), ("compiled", "channels_last_compiled")):
            best = min(other[way]["min_ms"] for way in ways if way in other)
            cells += [f"{best:.2f}", f"{step / best:.2f}"]
        print("| " + " | ".join([*cells, other["torch"]]) + " |")


def print_kernels(model, profiled):
    total = sum(k["ms"] for k in profiled["kernels"])
    print(f"\n{model}: {total:.1f} ms in kernels, sgemm {profiled['sgemm_gflops']:.0f} GFLOP/s")
    for kernel in profiled["kernels"][:8]:
        print(f"  {kernel['ms']:9.2f} ms {100 * kernel['ms'] / total:5.1f} %  {kernel['calls']:4} x {kernel['kernel']}")


def main():
    parser = argparse.ArgumentParser(description="the engine beside PyTorch")
    parser.add_argument("msdbg")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--newest", metavar="PYTHON", help="an interpreter with a newer PyTorch")
    given = parser.parse_intermixed_args()
    msdbg, models = given.msdbg, given.models or MODELS
    torch = has_torch()
    if not torch:
        print(f"no PyTorch to compare with ({PYTHON} without torch: Debian's python3-torch; or no {peers})")
    results = {model: measure(msdbg, model, torch) for model in models}
    print(f"{THREADS} threads, {ROUNDS} rounds in turns, load {os.getloadavg()[0]:.1f}\n")
    print_table([row(model, *results[model]) for model in models])
    if given.newest:
        print_newest(given.newest, models, results)
    for model in models:
        print_kernels(model, results[model][3])


main()

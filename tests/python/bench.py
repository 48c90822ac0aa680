"""What recording a PyTorch training costs: multiples of the plain step, all configurations in turns.

    python bench.py --msdbg build/release/bin/msdbg [--models mlp,cnn] [--rounds 3] [--json] [--enforce]

One thread. Each round runs every configuration once, in a process of its own; a ratio is the median of the
rounds' ratios of median steps. `limit` is what issue 27 wants (of level train: bytes seen at 10 GB/s and 3 us
a tensor). --enforce: exit status 1 when a limit is passed. Without --msdbg: plain steps and DebugMode only.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "bench_program.py")
STEPS = {"mlp": 400, "cnn": 50, "gpt4x128": 30, "gpt4x128-bf16": 30, "gpt6x384": 6}
STATISTICS = ["--policy", "stats"]
RECORDED = {
    "train": ["--level", "train", *STATISTICS],
    "modules": ["--level", "modules", *STATISTICS],
    "ops": ["--level", "ops", *STATISTICS],
    "ops flags": ["--level", "ops", "--statistics", "flags"],
    "ops values": ["--level", "ops", "--policy", "full", "--compress", "none", "--max-size", "20GiB"],
}
LIMITS = {
    "modules": dict.fromkeys(STEPS, 1.1),
    "ops": {"mlp": 2.2, "cnn": 1.25, "gpt4x128": 1.4, "gpt4x128-bf16": 1.6, "gpt6x384": 1.15},
    "ops flags": {"gpt4x128": 1.35},
    "ops values": {"gpt6x384": 1.35},
}
CONFIGURATIONS = ["plain", "loaded", *RECORDED, "DebugMode"]


def program(options, model, times, *more):
    return [
        options.python,
        PROGRAM,
        "--model",
        model,
        "--steps",
        str(options.steps or STEPS[model]),
        "--times",
        times,
        *more,
    ]


def measure(options, model, configuration, folder):
    """The program's own times, or a text that says why there are none."""
    times, run = os.path.join(folder, "times.json"), os.path.join(folder, "run.msdbg")
    for old in (times, run):
        (
            shutil.rmtree(old, ignore_errors=True)
            if os.path.isdir(old)
            else os.path.exists(old) and os.remove(old)
        )
    environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    command = program(options, model, times)
    if configuration == "DebugMode":
        command = program(options, model, times, "--debug-mode")
    elif configuration == "loaded":
        command = program(options, model, times, "--load", "msdbg")
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [options.package, environment.get("PYTHONPATH")])
        )
    elif configuration in RECORDED:
        command = [options.msdbg, "dump", *RECORDED[configuration], "-o", run, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0 or not os.path.exists(times):
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    if configuration in RECORDED and not os.path.isdir(run):
        return "nothing was recorded"
    with open(times, encoding="utf-8") as file:
        return json.load(file)


def rounds(options, model, folder):
    """configuration -> one result a round, taken in turns; one that fails is not tried again."""
    results = {c: [] for c in CONFIGURATIONS if options.msdbg or c in ("plain", "DebugMode")}
    for _ in range(options.rounds):
        for configuration, got in results.items():
            if not (got and isinstance(got[-1], str)):
                got.append(measure(options, model, configuration, folder))
    return results


def median(result, clock):
    return statistics.median(result[clock])


def limit_of(configuration, model, plain):
    if configuration == "train":
        allowed = plain["bytes"] / 10e9 * 1e3 + 3e-3 * plain["tensors"]
        return 1 + allowed / median(plain, "wall_ms")
    return LIMITS.get(configuration, {}).get(model)


def row(model, configuration, results):
    got, plain = results[configuration], results["plain"]
    failed = next((r for r in [*plain, *got] if isinstance(r, str)), None)
    if failed:
        return {"model": model, "configuration": configuration, "failed": failed}
    ratios = {
        clock: [median(g, clock) / median(p, clock) for g, p in zip(got, plain)]
        for clock in ("wall_ms", "cpu_ms")
    }
    limit = limit_of(configuration, model, plain[0])
    ratio = statistics.median(ratios["wall_ms"])
    return {
        "model": model,
        "configuration": configuration,
        "step_ms": statistics.median(median(g, "wall_ms") for g in got),
        "ratio": ratio,
        "least": min(ratios["wall_ms"]),
        "most": max(ratios["wall_ms"]),
        "cpu_ratio": statistics.median(ratios["cpu_ms"]),
        "limit": limit,
        "hooks": got[0]["hooks"],
        "same_loss": all(g["loss"] == plain[0]["loss"] for g in got),
        "within": limit is None or ratio <= limit,
    }


def show(r):
    if "failed" in r:
        print(f"{r['model']:14} {r['configuration']:11} not measured: {r['failed']}", flush=True)
        return
    limit = "" if r["limit"] is None else f"{r['limit']:7.3f}{'' if r['within'] else '  PASSED'}"
    notes = "" if r["same_loss"] else "  another loss than the plain run's"
    if r["configuration"] == "loaded":
        notes += f"  {r['hooks']} hooks"
    print(
        f"{r['model']:14} {r['configuration']:11} {r['step_ms']:9.3f} {r['ratio']:7.3f} "
        f"{r['least']:7.3f} {r['most']:7.3f} {r['cpu_ratio']:7.3f} {limit}{notes}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--msdbg", default="")
    parser.add_argument("--package", default="", help="folder of the package msdbg (default: beside --msdbg)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter with torch")
    parser.add_argument("--models", default=",".join(STEPS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--steps", type=int, default=0, help="of every model (default: about a second's worth and more)"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--enforce", action="store_true")
    options = parser.parse_args()
    if options.msdbg and not options.package:
        options.package = os.path.normpath(
            os.path.join(os.path.dirname(os.path.abspath(options.msdbg)), "../python")
        )
    if not options.json:
        print(
            f"{'model':14} {'recorded':11} {'step ms':>9} {'ratio':>7} {'least':>7} {'most':>7} {'cpu':>7}"
            f" {'limit':>7}"
        )
    rows, folder = [], tempfile.mkdtemp(prefix="msdbg-bench-")
    try:
        for model in options.models.split(","):
            results = rounds(options, model, folder)
            for configuration in results:
                rows.append(row(model, configuration, results))
                if not options.json:
                    show(rows[-1])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        print(json.dumps({"schema": "torch_bench/1", "rows": rows}, indent=1))
    missed = [r for r in rows if r.get("failed") or not r.get("within")]
    return 1 if options.enforce and missed else 0


if __name__ == "__main__":
    sys.exit(main())

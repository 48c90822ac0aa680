"""What recording a PyTorch training costs: multiples of the plain step.

    python bench.py --msdbg build/release/bin/msdbg [--models mlp,cnn] [--only ops,train] [--turns 9] [--json] [--enforce]

One thread. A recorded and a plain training take turns of about a tenth of a second, each stopped while the other
goes on, so that what else happens on the machine meets both; a ratio is the median of the turns' ratios of median
steps, with the turns' quartiles beside it. `limit` is what issue 27 wants (of level train: bytes seen at 10 GB/s and
3 us a tensor). --enforce: exit status 1 when a limit is passed. Without --msdbg: plain steps and the peers only, which
are PyTorch's DebugMode and msProbe (pip install mindstudio-probe; every module and function, forward and backward).
"""

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "bench_program.py")
STEPS = {"mlp": 50, "cnn": 4, "gpt4x128": 3, "gpt4x128-bf16": 3, "gpt6x384": 1}  # of one turn
WARMUP = 2  # turns: graph versions, the allocator, torch's own caches
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
PEERS = {  # options of the program
    "DebugMode": ["--debug-mode"],
    "msProbe": ["--msprobe", "statistics"],
    "msProbe values": ["--msprobe", "tensor"],
}
CONFIGURATIONS = ["plain", "loaded", *RECORDED, *PEERS]


class Program:
    """A training that goes on for one turn when told to, and stands still otherwise, its recorder's threads too."""

    def __init__(self, options, model, configuration, run):
        server = socket.create_server(("localhost", 0))
        command = [options.python, PROGRAM, "--model", model, "--port", str(server.getsockname()[1])]
        environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
        if configuration in PEERS:
            command += [*PEERS[configuration], "--folder", os.path.dirname(run)]
        elif configuration == "loaded":
            command += ["--load", "msdbg"]
            paths = [options.package, environment.get("PYTHONPATH")]
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        elif configuration in RECORDED:
            command = [options.msdbg, "dump", *RECORDED[configuration], "-o", run, "--", *command]
        self.said = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(command, stdout=self.said, stderr=self.said, env=environment)
        self.pid, self.steps = 0, options.steps or STEPS[model]
        server.settimeout(0.5)
        self.connection = self.accepted(server)
        self.answers = self.connection.makefile("r")

    def accepted(self, server):
        while True:
            try:
                return server.accept()[0]
            except socket.timeout:
                if self.process.poll() is not None:
                    raise Failed(self.last_words()) from None

    def last_words(self):
        self.process.wait()
        self.said.seek(0)
        return (self.said.read().strip().splitlines() or [f"exit status {self.process.returncode}"])[-1]

    def turn(self):
        if self.pid:
            os.kill(self.pid, signal.SIGCONT)
        self.connection.sendall(f"{self.steps}\n".encode())
        answer = self.answers.readline()
        if not answer:
            raise Failed(self.last_words())
        answer = json.loads(answer)
        self.pid = answer["pid"]
        os.kill(self.pid, signal.SIGSTOP)
        return answer

    def end(self):
        if self.pid and self.process.poll() is None:
            os.kill(self.pid, signal.SIGCONT)
        self.answers.close()
        self.connection.close()
        if self.process.wait() != 0:
            raise Failed(self.last_words())


class Failed(Exception):
    pass


def measure(options, model, configuration):
    with tempfile.TemporaryDirectory(prefix="msdbg-bench-") as folder:
        return measured_in(folder, options, model, configuration)


def measured_in(folder, options, model, configuration):
    """(turns of the plain training, turns of the recorded one), or a text that says why there are none."""
    run = os.path.join(folder, "run.msdbg")
    programs, turns = [], []
    try:
        programs.append(Program(options, model, "plain", run))
        programs.append(Program(options, model, configuration, run))
        for _ in range(WARMUP + options.turns):
            turns.append([program.turn() for program in programs])
        for program in programs:
            program.end()
    except Failed as failure:
        return str(failure)
    finally:
        for program in programs:
            if program.process.poll() is None:
                program.process.kill()
                program.process.wait()
    if configuration in RECORDED and not os.path.isdir(run):
        return "nothing was recorded"
    return list(zip(*turns[WARMUP:]))


def limit_of(configuration, model, plain):
    if configuration == "train":
        allowed = plain[-1]["bytes"] / 10e9 * 1e3 + 3e-3 * plain[-1]["tensors"]
        return 1 + allowed / statistics.median(medians(plain, "wall_ms"))
    return LIMITS.get(configuration, {}).get(model)


def medians(turns, clock):
    return [statistics.median(turn[clock]) for turn in turns]


def row(model, configuration, measured):
    if isinstance(measured, str):
        return {"model": model, "configuration": configuration, "failed": measured}
    plain, got = measured
    ratios = {
        clock: [g / p for g, p in zip(medians(got, clock), medians(plain, clock))]
        for clock in ("wall_ms", "cpu_ms")
    }
    lower, ratio, upper = statistics.quantiles(ratios["wall_ms"], n=4, method="inclusive")
    limit = limit_of(configuration, model, plain)
    return {
        "model": model,
        "configuration": configuration,
        "plain_ms": statistics.median(medians(plain, "wall_ms")),
        "step_ms": statistics.median(medians(got, "wall_ms")),
        "ratio": ratio,
        "lower": lower,
        "upper": upper,
        "cpu_ratio": statistics.median(ratios["cpu_ms"]),
        "limit": limit,
        "hooks": got[-1]["hooks"],
        "same_loss": got[-1]["loss"] == plain[-1]["loss"],
        "within": limit is None or ratio <= limit,
    }


def show(r):
    if "failed" in r:
        print(f"{r['model']:14} {r['configuration']:14} not measured: {r['failed']}", flush=True)
        return
    limit = "" if r["limit"] is None else f"{r['limit']:7.3f}{'' if r['within'] else '  PASSED'}"
    notes = "" if r["same_loss"] else "  another loss than the plain run's"
    if r["configuration"] == "loaded":
        notes += f"  {r['hooks']} hooks"
    print(
        f"{r['model']:14} {r['configuration']:14} {r['plain_ms']:9.3f} {r['step_ms']:9.3f} {r['ratio']:7.3f} "
        f"{r['lower']:7.3f} {r['upper']:7.3f} {r['cpu_ratio']:7.3f} {limit}{notes}",
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
    parser.add_argument("--only", default=",".join(CONFIGURATIONS), help="configurations, by commas")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--steps", type=int, default=0, help="of a turn (default: about a tenth of a second's)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--enforce", action="store_true")
    options = parser.parse_args()
    if options.msdbg and not options.package:
        options.package = os.path.normpath(
            os.path.join(os.path.dirname(os.path.abspath(options.msdbg)), "../python")
        )
    if not options.json:
        print(
            f"{'model':14} {'recorded':14} {'plain ms':>9} {'step ms':>9} {'ratio':>7} {'lower':>7} {'upper':>7} {'cpu':>7}"
            f" {'limit':>7}"
        )
    rows = []
    for model in options.models.split(","):
        for configuration in options.only.split(","):
            if configuration not in CONFIGURATIONS:
                parser.error(f"--only {configuration}: no such configuration, there are {', '.join(CONFIGURATIONS)}")
            if not options.msdbg and configuration not in ("plain", *PEERS):
                continue
            rows.append(row(model, configuration, measure(options, model, configuration)))
            if not options.json:
                show(rows[-1])
    if options.json:
        print(json.dumps({"schema": "torch_bench/1", "rows": rows}, indent=1))
    missed = [r for r in rows if r.get("failed") or not r.get("within")]
    return 1 if options.enforce and missed else 0


if __name__ == "__main__":
    sys.exit(main())

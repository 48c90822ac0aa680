"""Long runs through the built extension: memory stays flat, and SIGKILL costs a second at most.

MSDBG_LONG=1 lets 10,000 iterations run at each level (two minutes), not 3,000.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List

import built
import pytest

pytestmark = pytest.mark.skipif(bool(built.missing()), reason=built.missing())
INJECT = os.path.join(built.BUILD, "python", "inject")

TRAINING = """
import sys, time, torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
data, labels = torch.randn(256, 32), torch.randint(0, 10, (256,))
def step():
    i = torch.randint(0, 256, (16,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(data[i]), labels[i]).backward()
    optimizer.step()
"""
COUNTED = TRAINING + """
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])
for k in range(1, int(sys.argv[1]) + 1):
    step()
    if k == 1000: first = resident()
print(first, resident())
"""
# Each line is written before the next iteration begins: that one had ended by then.
TIMED = TRAINING + """
import os
print(os.getpid(), flush=True)
for k in range(100000):
    step()
    time.sleep(0.004)
    print(k, time.monotonic(), flush=True)
"""


def environment(**more: str) -> Dict[str, str]:
    return dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=INJECT, **more)


def asked(*words: str) -> Any:
    done = subprocess.run([built.MSDBG, *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("level", ["train", "modules", "ops"])
def test_the_memory_of_a_long_training_stays_flat(tmp_path: Any, level: str) -> None:
    iterations = 10000 if os.environ.get("MSDBG_LONG") == "1" else 3000
    run = tmp_path / "run.msdbg"
    given = environment(MSDBG_DUMP=str(run), MSDBG_LEVEL=level,
                        MSDBG_DUMP_OPTIONS=json.dumps({"policy": "stats", "max_bytes": 30_000_000}))
    done = subprocess.run([sys.executable, "-c", COUNTED, str(iterations)], env=given, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    first, last = (int(word) for word in done.stdout.split())
    print(f"{level}: {first * 4} kB after 1,000 iterations, {last * 4} kB after {iterations}")
    assert last < 1.02 * first  # what grows: a rank's lists of iterations, and the heap until it has its size
    assert asked("info", str(run))["ranks"][0]["count"] == iterations


def _lines(pipe: Any, until: float) -> List[List[str]]:
    lines = []
    while time.monotonic() < until:
        lines.append(pipe.readline().split())
    return lines


@pytest.mark.parametrize("launched", [True, False])
def test_sigkill_costs_a_second_and_names_the_rank(tmp_path: Any, launched: bool) -> None:
    script, run = tmp_path / "train.py", tmp_path / "run.msdbg"
    script.write_text(TIMED)
    command = [sys.executable, str(script)]
    given = environment() if launched else environment(MSDBG_DUMP=str(run))
    program = subprocess.Popen([built.MSDBG, "dump", "-o", str(run), "--", *command] if launched else command,
                               env=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert program.stdout is not None
    words = [program.stdout.readline().split()]
    while len(words[-1]) != 1 or not words[-1][0].isdigit():  # msdbg says first what it will do
        words.append(program.stdout.readline().split())
    pid = int(words[-1][0])
    wait = random.uniform(0.1, 4)
    lines = _lines(program.stdout, time.monotonic() + wait)
    os.kill(pid, signal.SIGKILL)
    lines += [line.split() for line in program.stdout.read().splitlines()]
    program.wait()
    ended = {int(line[0]): float(line[1]) for line in lines if len(line) == 2 and line[0].isdigit()}
    assert ended, "it was killed before its first iteration ended"
    info = asked("info", str(run))
    recorded = info["ranks"][0]
    newest = int(recorded["iterations"].rsplit("-", 1)[-1]) if recorded["count"] else -1
    missing = [k for k in sorted(ended) if k > newest]
    print(f"killed after {wait:.2f} s: {len(ended)} iterations ended, {len(missing)} are missing")
    # Training waits once a finished iteration has not been committed for a second; the last ones were still going on.
    if len(missing) > 2:
        assert ended[missing[-2]] - ended[missing[0]] < 1.0
    assert info["state"] == ("killed" if launched else "interrupted")
    first = asked("check", str(run))["first"]
    assert first["condition"] == "run_failed" and first["rank"] == 0
    assert asked("verify", str(run))["damage"] == []

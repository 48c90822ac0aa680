"""Runs scripts in forks of a process that has imported torch already, which is most of what a short one takes.

Ranks of a torchrun script are forks with the environment that torchrun would give them.
"""

import json
import os
import runpy
import signal
import sys
import time
import traceback
from typing import Dict, List, Tuple

import fault_table
import torch
import torch._dynamo  # noqa: F401 (an optimizer imports it in its first step)
import torch.distributed  # noqa: F401 (so that the forks need not)
import witness
from fault_table import Script

TIME_LIMIT = 240  # seconds; a script takes one or two on an idle core


def environment(script: Script, rank: int, port: int) -> Dict[str, str]:
    variables = {"OMP_NUM_THREADS": "1"}
    if script.torchrun:
        variables.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(script.ranks))
        variables.update(LOCAL_WORLD_SIZE=str(script.ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    return variables


def child(script: Script, arguments: List[str], variables: Dict[str, str], base: str, watched: bool) -> int:
    """What the fork does: the script, its output in BASE.out, what the witness saw in BASE.json. Its exit status."""
    out = os.open(base + ".out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.environ.update(variables)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)
    torch.set_num_threads(1)
    sys.argv = [script.path, *arguments]
    sys.path[0] = os.path.dirname(script.path)
    status = 0
    try:
        if watched:
            seen = witness.watch(script.path)
            status = 1 if seen["ended"] else 0
            with open(base + ".json", "w", encoding="utf-8") as file:
                json.dump(seen, file)
        else:
            runpy.run_path(script.path, run_name="__main__")
    except BaseException:  # the fork must not go on as pytest, whatever happened
        traceback.print_exc()
        status = 2
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def wait_for(pids: List[int]) -> List[int]:
    """Exit statuses; after the time limit all are killed."""
    statuses, deadline = {}, time.monotonic() + TIME_LIMIT
    while len(statuses) < len(pids):
        for pid in set(pids) - set(statuses):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                statuses[pid] = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    return [statuses[pid] for pid in pids]


def run(script: Script, folder: str, bug: str = "", watched: bool = True) -> Tuple[str, List[dict], List[int]]:
    """(what all ranks printed, what the witness of each saw, exit statuses)"""
    arguments = ["--steps", str(script.steps), "--seed", "0", *(["--bug", bug] if bug else [])]
    ranks = script.ranks if script.torchrun else 1
    port, pids, bases = fault_table.free_port(), [], [os.path.join(folder, f"rank{r}") for r in range(ranks)]
    for rank, base in enumerate(bases):
        pid = os.fork()
        if pid == 0:
            os._exit(child(script, arguments, environment(script, rank, port), base, watched))
        pids.append(pid)
    statuses = wait_for(pids)
    printed, seen = "", []
    for base in bases:
        with open(base + ".out", encoding="utf-8") as file:
            printed += file.read()
        if watched:
            assert os.path.exists(base + ".json"), printed[-2000:]
            with open(base + ".json", encoding="utf-8") as file:
                seen.append(json.load(file))
    return printed, seen, statuses

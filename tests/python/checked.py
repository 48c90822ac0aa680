"""Records a program at level ops, as a user does, and asks about the run. Skips where msdbg is not built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Sequence

import built
import pytest

PYTHON = (sys.executable,)
TWO_RANKS = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


def recorded(tmp_path: Any, program: str, *arguments: str, launcher: Sequence[str] = PYTHON, level: str = "ops",
             fails: bool = False, options: Sequence[str] = ()) -> Any:
    """The run's folder. A failure of the recorder ends the program, and the test; `fails`: the program does anyway."""
    if built.missing():
        pytest.skip(built.missing())
    script, run = tmp_path / "train.py", tmp_path / "run.msdbg"
    script.write_text(program)
    subprocess.run([built.MSDBG, "dump", "--level", level, *options, "-o", run, "--", *launcher, script, *arguments],
                   env=dict(os.environ, OMP_NUM_THREADS="1", MSDBG_STRICT="1"), check=not fails, capture_output=True)
    return run


def asked(*arguments: Any) -> Any:
    """What a command of msdbg prints as JSON."""
    done = subprocess.run([built.MSDBG, *arguments, "--json"], capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)


def said(*arguments: Any) -> str:
    """What a command of msdbg prints."""
    done = subprocess.run([built.MSDBG, *arguments], capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr
    return done.stdout


def first_of(tmp_path: Any, program: str, *arguments: str, launcher: Sequence[str] = PYTHON) -> Any:
    """The first fault; None: there is none."""
    return asked("check", recorded(tmp_path, program, *arguments, launcher=launcher))["first"]

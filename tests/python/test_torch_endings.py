"""How a recording ends, and does not begin: a signal that ends the program, a run that is there already."""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
from typing import Any

import built
import pytest
import torch
from torch_recorded import Net, recorded

import msdbg

DYING = """
import ctypes, os, sys, torch
from torch import nn
net = nn.Linear(8, 8)
optimizer = torch.optim.SGD(net.parameters(), 0.1)


def die():
    os.abort() if sys.argv[1] == "abort" else ctypes.string_at(0)


for step in range(5):
    optimizer.zero_grad()
    net(torch.ones(4, 8)).square().mean().backward()
    if step == 3:
        die()
    optimizer.step()
"""


@pytest.mark.parametrize("way, status, signal", (("abort", 134, "SIGABRT"), ("null", 139, "SIGSEGV")))
def test_a_signal_that_ends_the_program_has_its_python_line(way: str, status: int, signal: str, tmp_path: Any) -> None:
    if built.missing():
        pytest.skip(built.missing())
    (tmp_path / "train.py").write_text(DYING)
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    dumped = subprocess.run([built.MSDBG, "dump", "-o", "run.msdbg", "--", sys.executable, "train.py", way],
                            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert dumped.returncode == status, dumped.stderr
    said = subprocess.run([built.MSDBG, "check", "run.msdbg"], cwd=tmp_path, capture_output=True, text=True).stdout
    said = " ".join(said.split())
    assert signal in said and "Python was at train.py:9 in die" in said


def test_a_recording_that_ends_well_leaves_no_trace_of_the_watch(tmp_path: Any) -> None:
    def train() -> None:
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(4, 6)).square().mean().backward()
            optimizer.step()

    enable, before = faulthandler.enable, faulthandler.is_enabled()
    recorded("train", train, tmp_path)
    assert faulthandler.enable is enable and faulthandler.is_enabled() == before
    assert not os.path.exists(tmp_path / "run.msdbg" / "stacks")


def test_record_refuses_a_run_that_is_there(tmp_path: Any) -> None:
    (tmp_path / "run.msdbg").mkdir()
    (tmp_path / "run.msdbg" / "run.json").write_text("{}")
    with pytest.raises(FileExistsError, match="name another folder"):
        with msdbg.record(str(tmp_path / "run.msdbg")):
            raise AssertionError("it was entered")


STOPPED = """
import os, signal, sys, torch
from torch import nn
net = nn.Linear(8, 8)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(50):
    optimizer.zero_grad()
    net(torch.ones(4, 8)).square().mean().backward()
    optimizer.step()
    if step == 5:
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
"""


@pytest.mark.parametrize("name, status", (("SIGTERM", 143), ("SIGINT", 130)))
def test_a_program_that_is_asked_to_stop_did_not_fail(name: str, status: int, tmp_path: Any) -> None:
    if built.missing():
        pytest.skip(built.missing())
    (tmp_path / "train.py").write_text(STOPPED)
    dumped = subprocess.run([built.MSDBG, "dump", "-o", "run.msdbg", "--", sys.executable, "train.py", name],
                            cwd=tmp_path, env=dict(os.environ, OMP_NUM_THREADS="1"), capture_output=True, text=True)
    assert dumped.returncode == status, dumped.stderr
    checked = subprocess.run([built.MSDBG, "check", "run.msdbg"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    assert "the run was stopped after iteration 5" in checked.stdout


def test_stats_of_an_optimizers_state_says_where_they_are(tmp_path: Any) -> None:
    if built.missing():
        pytest.skip(built.missing())
    (tmp_path / "train.py").write_text(STOPPED.replace("0.1)", "0.1, momentum=0.9)").replace("step == 5", "False"))
    subprocess.run([built.MSDBG, "dump", "-o", "run.msdbg", "--", sys.executable, "train.py"], cwd=tmp_path,
                   env=dict(os.environ, OMP_NUM_THREADS="1"), check=True, capture_output=True)

    def stats(tensor: str) -> str:
        return subprocess.run([built.MSDBG, "stats", "run.msdbg", "--tensor", tensor], cwd=tmp_path,
                              capture_output=True, text=True).stdout

    assert "msdbg stats --tensor update/Linear/SGD-op1:1" in stats("momentum_buffer(Linear/weight)")
    assert "no statistics" not in stats("update/Linear/SGD-op1:1")

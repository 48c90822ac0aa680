"""Processes: how a recording begins with `import torch` and ends with the program, forks, ranks."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import textwrap
from typing import Any

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.normpath(os.path.join(HERE, "..", "..", "dump", "python"))

MODEL = """
import os, sys, time, torch
from torch import nn
torch.manual_seed(1)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
def step(x=None):
    optimizer.zero_grad()
    model(torch.randn(3, 4) if x is None else x).square().mean().backward()
    optimizer.step()
"""


def run(tmp: Any, script: str, level: str = "ops", launcher: list[str] = [], **environment: str) -> Any:  # noqa: B006
    file = tmp / "train.py"
    file.write_text(textwrap.dedent(script))
    given = {"MSDBG_DUMP": str(tmp / "run.msdbg"), **environment}
    everything = dict(os.environ, OMP_NUM_THREADS="1", MSDBG_STRICT="1", MSDBG_LEVEL=level,
                      MSDBG_RECORD_MODULE="fake_record", MSDBG_FAKE_STREAM=str(tmp / "stream%r.jsonl"), **given)
    everything["PYTHONPATH"] = os.pathsep.join([os.path.join(PACKAGE, "inject"), HERE])
    return subprocess.run([sys.executable, *launcher, str(file)], env=everything, text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def stream(tmp: Any, rank: int = 0) -> list[list[Any]]:
    with open(tmp / f"stream{rank}.jsonl") as file:
        return [json.loads(line) for line in file]


def finished(tmp: Any, rank: int = 0) -> list[Any]:
    return [call[1:] for call in stream(tmp, rank) if call[0] == "finish"]


def test_importing_msdbg_imports_no_torch() -> None:
    code = ("import msdbg, sys; msdbg.step(1)\nwith msdbg.scope('a'): x = msdbg.watch(3, 'x')\n"
            "assert x == 3 and 'torch' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True, env=dict(os.environ, PYTHONPATH=PACKAGE))


def test_a_program_that_runs_to_its_end(tmp_path: Any) -> None:
    done = run(tmp_path, MODEL + "for _ in range(3): step()\n")
    assert done.returncode == 0, done.stderr
    assert finished(tmp_path) == [["finished", "", 0]]
    assert [call[1] for call in stream(tmp_path) if call[0] == "begin"] == [0, 1, 2]
    settings = stream(tmp_path)[0][1]
    assert settings["level"] == "ops" and settings["command"][-1].endswith("train.py") and settings["create"]


def test_an_exception_says_where(tmp_path: Any) -> None:
    done = run(tmp_path, MODEL + "step()\nstep(torch.randn(3, 5))\n")
    assert done.returncode == 1 and "mat1 and mat2 shapes" in done.stderr
    state, message, status = finished(tmp_path)[0]
    assert (state, status) == ("failed", 1)
    assert message.startswith("RuntimeError: ") and "mat1 and mat2 shapes" in message and message.endswith("(train.py:9)")


def test_an_interrupt_and_an_exit(tmp_path: Any) -> None:
    run(tmp_path, MODEL + "step()\nraise KeyboardInterrupt\n")
    assert finished(tmp_path)[0][0] == "stopped"
    done = run(tmp_path, MODEL + "step()\nsys.exit(3)\n")
    assert done.returncode == 3 and finished(tmp_path)[0] == ["failed", "sys.exit(3)", 3]


def test_a_launcher_that_ends_it(tmp_path: Any) -> None:
    done = run(tmp_path, MODEL + "step()\nos.kill(os.getpid(), 15)\ntime.sleep(30)\n")
    assert done.returncode == -15
    assert finished(tmp_path)[0] == ["stopped", "stopped by signal 15 (SIGTERM)", 143]
    mine = "import signal\nsignal.signal(15, lambda *_: sys.exit(5))\n"  # one of its own stays
    done = run(tmp_path, mine + MODEL + "step()\nos.kill(os.getpid(), 15)\n")
    assert done.returncode == 5 and finished(tmp_path)[0] == ["failed", "sys.exit(5)", 5]


def test_a_process_that_trains_nothing_records_nothing(tmp_path: Any) -> None:
    done = run(tmp_path, "import torch\nprint(torch.ones(3).sum().item())\n")
    assert done.returncode == 0 and done.stdout == "3.0\n"
    assert not (tmp_path / "stream0.jsonl").exists()


def test_forked_children_and_workers_do_not_record(tmp_path: Any) -> None:
    done = run(tmp_path, MODEL + """
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.randn(12, 4))
for (x,) in DataLoader(data, batch_size=3, num_workers=2, multiprocessing_context="fork"):
    step(x)
if os.fork() == 0:
    step()
    os._exit(0)
os.wait()
step()
""")
    assert done.returncode == 0, done.stderr
    calls = stream(tmp_path)
    assert [call[1] for call in calls if call[0] == "begin"] == [0, 1, 2, 3, 4]
    assert "batch/0" in [call[1] for call in calls if call[0] == "source"]


DDP = """
import torch, torch.distributed as dist
from torch import nn
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(7)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 2)
    def forward(self, x):
        return self.b(torch.relu(self.a(x)))
model = nn.parallel.DistributedDataParallel(Net())
optimizer = torch.optim.AdamW(model.parameters(), 0.01)
torch.manual_seed(rank)
for _ in range(6):
    optimizer.zero_grad()
    model(torch.randn(5, 4)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
"""


@pytest.mark.parametrize("level", ("train", "modules", "ops"))
def test_two_ranks_have_the_same_names_and_run(level: str, tmp_path: Any) -> None:
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29533"]
    done = run(tmp_path, DDP, level, launcher)
    assert done.returncode == 0, done.stderr
    first, second = stream(tmp_path, 0), stream(tmp_path, 1)
    assert (first[0][1]["rank"], second[0][1]["rank"], second[0][1]["ranks"]) == (0, 1, 2)
    assert first[0][1]["create"] and not second[0][1]["create"] and second[0][1]["run_id"] == "f" * 32
    for kind in ("node", "source"):
        assert [call[1] for call in first if call[0] == kind] == [call[1] for call in second if call[0] == kind]
    begun = [call[1] for call in first if call[0] == "begin"]
    assert begun == list(range(6))
    if level == "ops":
        assert [call for call in first if call[0] == "node" and call[2] == "c10d" and call[4] == "collective"]
    updated = [[call for call in calls if call[0] == "saw"][-1][4] for calls in (first, second)]
    assert updated[0] == updated[1]  # replicas are equal


BITS = """
    import hashlib, os, sys, torch, torch.distributed as dist
    from torch import nn
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.Tanh(), nn.Dropout(0.1), nn.Linear(32, 4))
    model = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    torch.manual_seed(rank + 1)
    for _ in range(20):
        x = torch.randn(16, 16)
        loss = nn.functional.cross_entropy(model(x), x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    bits = [*model.state_dict().values(), torch.get_rng_state()]
    bits += [value for state in optimizer.state.values() for value in state.values()]
    digest = hashlib.sha256(b"".join(bit.contiguous().numpy().tobytes() for bit in bits)).hexdigest()
    with open(os.path.join(os.path.dirname(__file__), f"digest{rank}"), "w") as file:
        file.write(digest)
    dist.destroy_process_group()
"""


def test_two_ranks_have_the_bits_of_an_unrecorded_training_at_each_level(tmp_path: Any) -> None:
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port"]
    digests: dict[str, list[str]] = {}
    for level in ("", "train", "modules", "ops"):
        folder = tmp_path / (level or "off")
        folder.mkdir()
        more = {} if level else {"MSDBG_DUMP": ""}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        done = run(folder, BITS, level or "ops", [*torchrun, port], **more)
        assert done.returncode == 0, done.stderr
        digests[level] = [(folder / f"digest{rank}").read_text() for rank in (0, 1)]
        if level:
            for rank in (0, 1):
                assert sum(call[0] == "end" for call in stream(folder, rank)) == 20
    assert all(digest == digests[""] for digest in digests.values())
    assert digests[""][0] != digests[""][1]  # random numbers differ

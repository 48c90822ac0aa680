"""Records what the package calls of the extension while the scripts run: the streams in streams/, by which the extension
is tested where there is no torch (test_streams.py). Needs torch; run it again where names or calls change.

    OMP_NUM_THREADS=1 python tests/python/record_streams.py [script ...]

A stream is JSON lines, [call, arguments...], gzipped. Left out are the values (a tensor is made from dtype and shape),
what differs between machines, and the package's own engine frames' folders.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Iterator, List

import fault_table

HERE = os.path.dirname(os.path.abspath(__file__))
STREAMS = os.path.join(HERE, "streams")
INJECT = os.path.join(HERE, "..", "..", "dump", "python", "inject")
STEPS = 3
AT_OPS = ("mlp_digits", "cnn_batchnorm", "nanogpt", "nanogpt_bf16", "grad_scaler", "grad_accumulation", "gan",
          "checkpointing", "lbfgs", "mean_teacher", "custom_function", "ddp", "manual_allreduce", "vae", "contrastive",
          "policy_gradient", "gnn_scatter", "raises", "own_optimizer", "trainer_class", "compiled", "unet", "lstm_packed")
AT_OTHERS = (("nanogpt", "train"), ("nanogpt", "modules"), ("gan", "train"), ("ddp", "train"))


def portable(call: List[Any], script: str) -> List[Any]:
    """Without what is this machine's."""
    if call[0] == "open":
        kept = {key: call[1][key] for key in ("rank", "ranks", "backend", "level", "seed", "threads")}
        return ["open", dict(kept, command=["python", f"{script}.py"], program=f"{script}.py",
                             libraries={"torch": "2.15.0", "python": "3.11.7"})]
    if call[0] == "frame":
        file = call[1]
        for folder in (fault_table.SCRIPTS, os.path.dirname(HERE)):
            file = file.replace(folder, "/home/user")
        at = file.find("site-packages")
        return ["frame", file if at < 0 else "/usr/lib/python3/" + file[at:], *call[2:]]
    return call[:4] if call[0] == "saw" else call


def lines_of(path: str, script: str) -> Iterator[str]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.dumps(portable(json.loads(line), script), separators=(",", ":")) + "\n"


def record(script: fault_table.Script, level: str, folder: str) -> List[str]:
    """Paths of the streams of its ranks, as they were written."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", MSDBG_STRICT="1", MSDBG_LEVEL=level,
                       MSDBG_DUMP=os.path.join(folder, "run.msdbg"), MSDBG_RECORD_MODULE="fake_record",
                       MSDBG_FAKE_STREAM=os.path.join(folder, f"{script.name}.%r"),
                       PYTHONPATH=os.pathsep.join([INJECT, HERE]))
    done = subprocess.run(fault_table.command(script, steps=STEPS), env=environment, capture_output=True, text=True)
    paths = [os.path.join(folder, f"{script.name}.{rank}") for rank in range(script.ranks)]
    if not all(map(os.path.exists, paths)):
        sys.exit(f"{script.name} at {level} left no stream:\n{done.stderr[-3000:]}")
    return paths


def main() -> None:
    os.makedirs(STREAMS, exist_ok=True)
    scripts, _ = fault_table.load()
    wanted = [(name, "ops") for name in AT_OPS] + list(AT_OTHERS)
    for name, level in wanted:
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for rank, path in enumerate(record(scripts[name], level, folder)):
                packed = os.path.join(STREAMS, f"{name}.{level}.{rank}.jsonl.gz")
                text = "".join(lines_of(path, name)).encode()
                with open(packed, "wb") as file:
                    file.write(gzip.compress(text, 9, mtime=0))
                print(f"{os.path.basename(packed)}: {text.count(10)} calls, {os.path.getsize(packed)} bytes", flush=True)


if __name__ == "__main__":
    main()

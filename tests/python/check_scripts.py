"""Are the scripts what faults.json says of them? Without msdbg: plain PyTorch, watched by witness.py.

OMP_NUM_THREADS=1 python -m pytest tests/python/check_scripts.py [-k nanogpt]
"""

import fnmatch
import json
import math
import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fault_table  # noqa: E402
import forked  # noqa: E402

SCRIPTS, FAULTS = fault_table.load()
LEARNS_BY = 0.1  # of what the loss was, over the whole training


def watched(script, tmp_path, bug=""):
    """(what was printed, what the witness of each rank saw)"""
    printed, seen, _ = forked.run(script, str(tmp_path), bug)
    return printed, seen


def plain(script, tmp_path, bug=""):
    """What it prints without a witness. A script that starts its ranks itself is started as a user does."""
    if script.spawns:
        done = subprocess.run(fault_table.command(script, bug=bug), capture_output=True, text=True)
        printed, statuses = done.stdout, [done.returncode]
    else:
        printed, _, statuses = forked.run(script, str(tmp_path), bug, watched=False)
    assert not any(statuses), printed[-2000:]
    return printed


def in_scope(fault, parameter):
    return any(fnmatch.fnmatchcase(parameter.rsplit("/", 1)[0], pattern) for pattern in fault.scopes)


def ratios(seen, fault):
    """Iteration -> the largest change of a parameter in the fault's scopes, as a share of its size."""
    largest = {}
    for step in seen["steps"]:
        for name, ratio in step["ratio"].items():
            if in_scope(fault, name):
                ratio = math.inf if math.isnan(ratio) else ratio
                largest[step["iteration"]] = max(largest.get(step["iteration"], 0.0), ratio)
    return largest


def is_non_finite(fault, seen, losses):
    wrong = seen[fault.rank or 0]
    assert wrong["origins"], "everything stayed finite"
    origin = wrong["origins"][0]
    assert (origin["iteration"], origin["line"] in fault.lines) == (fault.iteration, True), origin
    assert origin["phase"] in fault.phases, origin
    if origin["loader"]:  # which a recorder need not look into: then its first reader is the answer
        reader = wrong["seen"][0]
        assert (reader["iteration"], reader["line"] in fault.lines) == (fault.iteration, True), reader
    for rank, other in enumerate(seen):
        if fault.rank is not None and rank != fault.rank:
            assert all(
                o["iteration"] >= fault.iteration for o in other["origins"]
            ), "another rank was wrong before"


def is_exploding_update(fault, seen, losses):
    largest = ratios(seen[fault.rank or 0], fault)
    assert largest[fault.iteration] > 2, largest
    assert all(ratio < 2 for iteration, ratio in largest.items() if iteration < fault.iteration), largest


def is_unchanged(fault, seen, losses):
    largest = ratios(seen[0], fault)
    left_out = [name for name in seen[0]["never_stepped"] if in_scope(fault, name)]
    assert left_out or largest, "no such parameter"
    assert all(ratio < 1e-4 for ratio in largest.values()), largest


def is_vanishing(fault, seen, losses):
    steps = [s for s in seen[0]["steps"] if s["iteration"] == fault.iteration]
    norms = [norm for s in steps for name, norm in s["gradient"].items() if in_scope(fault, name)]
    assert norms and max(norms) < 1e-6, norms


def is_diverging(fault, seen, losses):
    assert not abs(losses[-1]) < 3 * abs(losses[fault.iteration]), losses


def is_exploding_activation(fault, seen, losses):
    assert losses[fault.iteration] > 1e4, losses


def are_ranks_different(fault, seen, losses):
    sums = [[step["checksum"] for step in s["steps"]] for s in seen]
    assert sums[0][: fault.iteration] == sums[1][: fault.iteration], "they differed before"
    assert sums[0][fault.iteration] != sums[1][fault.iteration], "they are equal"


def inputs_of(fault, seen):
    return {int(k): v for k, v in seen[fault.rank or 0]["inputs"].items()}


def is_large_input(fault, seen, losses):
    inputs = inputs_of(fault, seen)
    assert inputs[fault.iteration]["max"] > 1e4, inputs[fault.iteration]
    assert all(v["max"] < 1e4 for k, v in inputs.items() if k < fault.iteration)


def is_zero_input(fault, seen, losses):
    zero = [k for k, v in inputs_of(fault, seen).items() if v["zero"]]
    assert zero and zero[0] == fault.iteration, zero


def is_same_batch(fault, seen, losses):
    assert all(s["inputs"][str(fault.iteration)] == seen[0]["inputs"][str(fault.iteration)] for s in seen)


def is_dead(fault, seen, losses):
    first = seen[0]["dead"][0]
    assert (first["iteration"], first["line"] in fault.lines) == (fault.iteration, True), first


def is_exception(fault, seen, losses):
    ended = seen[0]["ended"]
    assert ended and ended["iteration"] == fault.iteration and fault.lines & set(ended["lines"]), ended


KINDS = {
    "non_finite": is_non_finite,
    "exploding_update": is_exploding_update,
    "exploding_activation": is_exploding_activation,
    "unchanged": is_unchanged,
    "vanishing": is_vanishing,
    "diverging": is_diverging,
    "ranks_differ": are_ranks_different,
    "large_input": is_large_input,
    "zero_input": is_zero_input,
    "same_batch": is_same_batch,
    "dead": is_dead,
    "exception": is_exception,
}


def test_every_fault_of_a_script_has_its_row_and_its_lines():
    assert len(SCRIPTS) >= 14 and len(FAULTS) >= 44
    assert len({f.name for f in FAULTS}) == len(FAULTS)
    files = {f[:-3] for f in os.listdir(fault_table.SCRIPTS) if f.endswith(".py")}
    assert files == set(SCRIPTS)
    for script in SCRIPTS.values():
        rows = {f.bug for f in FAULTS if f.script == script.name}
        assert (
            fault_table.offered_bugs(script.path) == rows == set(fault_table.marked_lines(script.path))
        ), script.name
    for fault in FAULTS:
        assert fault.kind in KINDS and fault.why.endswith("."), fault.name


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_healthy(name, tmp_path):
    """Learns, stays finite, and prints the same twice, watched or not."""
    script = SCRIPTS[name]
    text = plain(script, tmp_path)
    printed = fault_table.losses(text, script.metric)
    assert len(printed) == script.steps * script.ranks
    assert all(map(math.isfinite, printed))
    each = [printed[r * script.steps : (r + 1) * script.steps] for r in range(script.ranks)]
    if script.spawns:  # its ranks print in turns
        each = [printed]
    for one in each:
        begin, end = sum(one[:5]) / 5, sum(one[-5:]) / 5
        gain = begin - end if script.better == "less" else end - begin
        assert gain > LEARNS_BY * abs(begin), (begin, end)
    if script.spawns:  # its ranks are not ours to watch
        return
    again, seen = watched(script, tmp_path)
    assert fault_table.losses(again) == fault_table.losses(text)
    for witness in seen:
        assert all(step["finite"] for step in witness["steps"])
        assert name == "grad_scaler" or not witness["origins"]


def test_the_scaler_skips_steps_in_good_health(tmp_path):
    printed = plain(SCRIPTS["grad_scaler"], tmp_path)
    scales = [float(line.rsplit("scale ", 1)[1]) for line in printed.splitlines() if "scale " in line]
    assert any(after < before for before, after in zip(scales, scales[1:])), scales


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_fault(fault, tmp_path):
    """Acts first where, when and how its row says."""
    script = SCRIPTS[fault.script]
    if script.spawns:
        printed = plain(script, tmp_path, fault.bug)
        assert f"rank {fault.rank} step {fault.iteration} loss nan" in printed
        assert f"step {fault.iteration - 1} loss nan" not in printed
        return
    printed, seen = watched(script, tmp_path, fault.bug)
    KINDS[fault.kind](fault, seen, fault_table.losses(printed))

"""Trains a script of tests/python/scripts and writes down, without msdbg, what really happened in it.

    python witness.py OUT SCRIPT [its options]     # also under torchrun: OUT gets the rank behind its name

A dispatch mode looks at what every operator reads and writes (is it finite, nothing more): an *origin* is an
operator that gave NaN or Inf although it read none. Hooks of optimizers note how far each parameter went and
how large its gradient was. An iteration is what the script prints one line with a loss for.
"""

import json
import os
import re
import runpy
import sys
import traceback

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

LOSS = re.compile(r"\bloss\b'?\s*[=:]?\s*([-+]?(?:nan|inf|[\d.]+(?:e[-+]?\d+)?))", re.I)
UNINITIALISED = re.compile(r"^(empty|new_empty|_to_copy_empty|resize)")
GATHERED = re.compile(
    r"^(_allgather|_reduce_scatter|allgather|all_gather|reduce_scatter|broadcast|split_with_sizes_copy)"
)
ORIGINS_KEPT = 12


class Counter:
    """Standard output that counts the lines of finished iterations."""

    def __init__(self, stream):
        self.stream, self.iteration, self.text = stream, 0, ""

    def write(self, text):
        self.text += text
        while "\n" in self.text:
            line, self.text = self.text.split("\n", 1)
            self.iteration += bool(LOSS.search(line))
        return self.stream.write(text)

    def __getattr__(self, name):
        return getattr(self.stream, name)


def floats(tree):
    for t in tree_leaves(tree):
        if isinstance(t, torch.Tensor) and (t.is_floating_point()) and t.numel() and not t.is_sparse:
            yield t


def state(tree):
    """(has NaN, has +Inf, has -Inf)"""
    nan = plus = minus = False
    for t in floats(tree):
        nan = nan or bool(torch.isnan(t).any())
        plus = plus or bool(torch.isposinf(t).any())
        minus = minus or bool(torch.isneginf(t).any())
    return nan, plus, minus


class Witness(TorchDispatchMode):
    def __init__(self, script, clock):
        super().__init__()
        self.script, self.clock = script, clock
        self.origins, self.seen, self.dead, self.lines = [], [], [], {}
        self.updating = False
        self.closed = False  # true while our own hooks compute, and at the end

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if any(t.__name__ in ("DTensor", "FakeTensor", "FunctionalTensor") for t in types):
            return NotImplemented if "DTensor" in [t.__name__ for t in types] else func(*args, **kwargs)
        before = state((args, kwargs))
        out = func(*args, **kwargs)
        name = func._schema.name.split("::")[1]
        if self.closed or UNINITIALISED.match(name) or GATHERED.match(name):
            return out
        self.look(name, (args, kwargs), before, out)
        self.remember_line()
        return out

    def look(self, name, read, before, out):
        nan, plus, minus = state(out)
        meant = any(isinstance(a, float) and a in (float("inf"), float("-inf")) for a in tree_leaves(read))
        # -Inf of a mask is meant, and what reads only that may still be the first to make NaN or +Inf.
        inf = not meant and not before[0] and not before[1] and (plus or (minus and not before[2]))
        born = inf or (nan and not before[0])
        if born and len(self.origins) < ORIGINS_KEPT:
            self.origins.append({"op": name, "nan": nan, "inf": inf, **self.place()})
        if (
            nan and len(self.seen) < ORIGINS_KEPT
        ):  # whoever shows it outside of the loader, its maker or a reader
            place = self.place()
            if not place["loader"]:
                self.seen.append({"op": name, **place})
        if (
            name.startswith("relu")
            and len(self.dead) < ORIGINS_KEPT
            and not any(bool(t.any()) for t in floats(out))
        ):
            self.dead.append({"op": name, **self.place()})

    def remember_line(self):
        """Operators that autograd will go back through: which line they were called on."""
        if torch._C._current_autograd_node() is None:
            number = torch.autograd._get_sequence_nr() - 1
            if number >= 0 and number not in self.lines:
                self.lines[number] = self.stack()[0]

    def stack(self):
        """(innermost line of the script, its function, in a loader)"""
        frame, line, function, loader = sys._getframe(2), 0, "", False
        while frame is not None:
            file = frame.f_code.co_filename
            if not line and file == self.script:
                line, function = frame.f_lineno, frame.f_code.co_name
            if frame.f_code.co_name == "closure":  # which an optimizer calls: the script's own again
                function = "closure"
            loader = loader or f"{os.sep}utils{os.sep}data{os.sep}" in file
            frame = frame.f_back
        return line, function, loader

    def place(self):
        line, function, loader = self.stack()
        node = torch._C._current_autograd_node()
        phase = "update" if self.updating and function != "closure" else "forward"
        if node is not None:
            phase = "backward"
            if function != "backward":  # an autograd.Function of the script shows its own line
                line = self.lines.get(node._sequence_nr(), line)
        return {
            "iteration": self.clock.iteration,
            "line": line,
            "phase": phase,
            "loader": loader,
            "node": node.name() if node is not None else "",
        }


class Training:
    """What optimizers and root modules show: names, gradients, changes, inputs."""

    def __init__(self, clock, witness):
        self.clock, self.witness = clock, witness
        self.names, self.steps, self.inputs, self.old, self.stepped = {}, [], {}, {}, set()
        self.roots = set()
        torch.nn.modules.module.register_module_forward_pre_hook(self.unseen(self.on_module))
        register_optimizer_step_pre_hook(self.unseen(self.before))
        register_optimizer_step_post_hook(self.unseen(self.after))

    def unseen(self, hook):
        def quiet(*args):
            self.witness.closed = True
            with torch.no_grad():
                hook(*args)
            self.witness.closed = False

        return quiet

    def on_module(self, module, args):
        known = any(id(p) in self.names for p in module.parameters())
        if not known and list(module.parameters()):
            self.roots.add(module)
            for name, p in module.named_parameters():
                if p.requires_grad:
                    self.names[id(p)] = type(module).__name__ + "/" + name.replace(".", "/")
        for t in floats(args):
            if module in self.roots:
                old = self.inputs.setdefault(self.clock.iteration, {"max": 0.0, "zero": False, "sum": 0.0})
                old["max"], old["zero"] = max(old["max"], float(t.abs().max())), old["zero"] or not bool(
                    t.any()
                )
                old["sum"] += float(t.double().sum())

    def name(self, p):
        return self.names.get(id(p), "?")

    def before(self, optimizer, args, kwargs):
        for group in optimizer.param_groups:
            for p in group["params"]:
                self.old[id(p)] = local(p).clone()
        self.witness.updating = True

    def after(self, optimizer, args, kwargs):
        self.witness.updating = False
        step = {
            "iteration": self.clock.iteration,
            "ratio": {},
            "gradient": {},
            "checksum": 0.0,
            "finite": True,
        }
        for group in optimizer.param_groups:
            for p in group["params"]:
                name, new, old = self.name(p), local(p), self.old[id(p)]
                self.stepped.add(name)
                if bool(old.any()):  # what begins at zero has no ratio
                    step["ratio"][name] = float((new - old).norm() / old.norm())
                step["gradient"][name] = float(local(p.grad).norm()) if p.grad is not None else None
                step["checksum"] += float(new.double().sum())
                step["finite"] = step["finite"] and bool(torch.isfinite(new).all())
        self.steps.append(step)


def local(t):
    t = t.detach()
    t = t.to_local() if hasattr(t, "to_local") else t
    return t.coalesce().values() if t.is_sparse else t


def watch(script: str) -> dict:
    """Runs the script, whose arguments are in sys.argv, in this process, and returns what was seen."""
    clock = sys.stdout = Counter(sys.stdout)
    witness, ended = Witness(script, clock), None
    training = Training(clock, witness)
    try:
        with witness:
            runpy.run_path(script, run_name="__main__")
    except Exception as error:  # what the script did not catch is what we came to see
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == script]
        ended = {
            "type": type(error).__name__,
            "text": str(error),
            "lines": lines,
            "iteration": clock.iteration,
        }
    witness.closed = True
    return {
        "origins": witness.origins,
        "seen": witness.seen,
        "dead": witness.dead,
        "steps": training.steps,
        "inputs": training.inputs,
        "never_stepped": sorted(set(training.names.values()) - training.stepped),
        "ended": ended,
    }


def main():
    out, script = sys.argv[1], os.path.abspath(sys.argv[2])
    sys.argv = sys.argv[2:]
    seen = watch(script)
    if "RANK" in os.environ:
        out += "." + os.environ["RANK"]
    with open(out, "w", encoding="utf-8") as file:
        json.dump(seen, file)
    sys.exit(1 if seen["ended"] else 0)


if __name__ == "__main__":
    main()

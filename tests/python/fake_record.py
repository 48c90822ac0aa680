"""msdbg._record in pure Python: checks every rule of the extension's API, keeps what it was told, and writes the
stream of calls as JSON lines where MSDBG_FAKE_STREAM names a file. MSDBG_FAKE=quiet checks and keeps nothing (for
timing). Needs torch only to hash what it sees.
"""

from __future__ import annotations

import builtins
import ctypes
import hashlib
import json
import math
import os
from typing import Any, Optional

ROLES = {"input", "label", "parameter", "state", "constant", "hyperparameter"}
OUTPUT_ROLES = {"activation", "loss", "gradient", "updated"}
PHASES = {"forward", "backward", "update", "collective"}

last: Optional["Recorder"] = None  # the newest one, for tests in the same process


class BrokenRule(RuntimeError):
    pass


def require(condition: Any, text: str) -> None:
    if not condition:
        raise BrokenRule(text)


def open(settings: str) -> Any:  # noqa: A001: the extension's name
    global last
    if os.environ.get("MSDBG_FAKE") == "quiet":
        return Quiet()
    last = Recorder(json.loads(settings), os.environ.get("MSDBG_FAKE_STREAM", ""))
    return last


class Quiet:
    """Ids and nothing else: what the Python side costs by itself."""

    def __init__(self) -> None:
        self.frames = self.tensors = self.nodes = 0

    def run_id(self) -> str:
        return "0" * 32

    def active(self) -> bool:
        return True

    def frame(self, *_: Any) -> int:
        self.frames += 1
        return self.frames - 1

    def source(self, *_: Any) -> int:
        self.tensors += 1
        return self.tensors - 1

    def node(self, name: str, domain: str, kind: str, phase: str, inputs: Any, outputs: Any, *_: Any) -> Any:
        first = self.tensors
        self.tensors += len(outputs)
        self.nodes += 1
        return self.nodes - 1, tuple(range(first, self.tensors))

    def saw(self, tensor: int, t: Any) -> bool:
        return True

    def ran(self, node: int) -> None:
        pass

    def begin(self, iteration: int) -> None:
        pass

    def nothing(self, *_: Any) -> None:
        pass

    def stop_hit(self) -> None:
        return None

    role = device = module = saw_same = keep = end = failed_at = finish = child = nothing


class Recorder:
    def __init__(self, settings: dict[str, Any], stream: str) -> None:
        for key in ("run", "rank", "ranks", "command", "program", "launcher", "run_id", "create", "libraries",
                    "backend", "level", "seed", "threads"):
            require(key in settings, f"settings without {key}")
        self.settings = settings
        self.stream = None
        if stream:
            self.stream = builtins.open(stream.replace("%r", str(settings["rank"])), "w", buffering=1)
        self.write("open", settings)
        self.frames: list[tuple[Any, ...]] = []
        self.tensors: list[dict[str, Any]] = []
        self.nodes: list[dict[str, Any]] = []
        self.modules: dict[str, str] = {}  # class names by path
        self.iterations: list[dict[str, Any]] = []
        self.now: Optional[dict[str, Any]] = None
        self.kinds: dict[tuple[Any, ...], int] = {}  # nodes by all that makes a variant
        self.names: set[str] = set()
        self.aliases: set[str] = set()
        self.finished: Optional[tuple[str, str, int]] = None
        self.was_child = False

    def write(self, call: str, *arguments: Any) -> None:
        if self.stream is not None:
            self.stream.write(json.dumps([call, *arguments], default=str) + "\n")

    def run_id(self) -> str:
        return self.settings["run_id"] or "f" * 32

    def active(self) -> bool:
        return self.finished is None

    # --- definitions ---

    def frame(self, file: str, line: int, function: str, code: str, engine: bool) -> int:
        require(isinstance(file, str) and isinstance(line, int) and line >= 0, f"frame {file}:{line}")
        require(isinstance(function, str) and isinstance(code, str) and isinstance(engine, bool), "frame's types")
        frame = (file, line, function, code, engine)
        self.write("frame", *frame)
        if frame in self.frames:
            return self.frames.index(frame)
        self.frames.append(frame)
        return len(self.frames) - 1

    def source(self, name: str, dtype: str, shape: tuple[int, ...], role: str, alias: str, trainable: bool,
               frames: tuple[int, ...]) -> int:
        require(name and name not in self.names, f"source {name!r} has no name, or one that is taken")
        require(not alias or alias not in self.aliases, f"alias {alias} of source {name} is taken")
        require(role in ROLES, f"source {name}: role {role}")
        require(type(trainable) is bool, f"source {name}: trainable {trainable!r}")
        self._check(name, dtype, shape, frames)
        self.names.add(name)
        self.aliases.add(alias)
        self.write("source", name, dtype, shape, role, alias, trainable, frames)
        self.tensors.append({"name": name, "dtype": dtype, "shape": shape, "role": role, "alias": alias,
                             "trainable": trainable, "producer": -1, "gradient_of": -1, "update_of": -1, "frames": frames})
        return len(self.tensors) - 1

    def node(self, name: str, domain: str, kind: str, phase: str, inputs: tuple[int, ...], outputs: tuple[Any, ...],
             attributes: dict[str, Any], frames: tuple[int, ...], derived_from: int) -> Any:
        require(name and domain and kind and phase in PHASES, f"node {name!r} {domain!r} {kind!r} {phase!r}")
        require(type(inputs) is tuple and type(outputs) is tuple and outputs, f"node {name}: no tuples, or no outputs")
        require(all(0 <= i < len(self.tensors) for i in inputs), f"node {name}: unknown input in {inputs}")
        require(-1 <= derived_from < len(self.nodes), f"node {name}: derived from {derived_from}")
        for key, value in attributes.items():
            self._check_attribute(name, key, value)
        self.write("node", name, domain, kind, phase, inputs, outputs, attributes, frames, derived_from)
        has_line = frames and phase in ("forward", "backward") and domain not in ("torch", "torch.nn", "python", "autograd")
        own = next((f for f in frames if not self.frames[f][4]), -1)
        line = (frames[0], own) if has_line else -1
        kind_of = (name, domain, kind, phase, line, tuple(output[:1] + output[2:] for output in outputs))
        if kind_of in self.kinds:
            return self._revise(self.kinds[kind_of], inputs, attributes, frames, derived_from)
        number, first = len(self.nodes), len(self.tensors)
        self.kinds[kind_of] = number
        for slot, output in enumerate(outputs):
            self._output(name, slot, number, output, frames)
        ids = tuple(range(first, len(self.tensors)))
        self.nodes.append({"name": name, "domain": domain, "type": kind, "phase": phase, "inputs": inputs,
                           "outputs": ids, "attributes": attributes, "frames": frames,
                           "derived_from": derived_from, "given": outputs})
        return number, ids

    def _revise(self, number: int, inputs: tuple[int, ...], attributes: dict[str, Any], frames: tuple[int, ...],
                derived_from: int) -> Any:
        """It reads something else now, or comes from something else."""
        node = self.nodes[number]
        require((node["inputs"], node["derived_from"]) != (inputs, derived_from), f"node {node['name']}: is so already")
        require(self.now is None or node["name"] not in self.now["names"], f"node {node['name']} changes, and ran")
        self.nodes[number] = dict(node, inputs=inputs, attributes=attributes, frames=frames, derived_from=derived_from)
        return number, node["outputs"]

    def _output(self, name: str, slot: int, number: int, output: Any, frames: tuple[int, ...]) -> None:
        dtype, shape, role, alias, gradient_of, update_of = output
        require(role in OUTPUT_ROLES, f"node {name}:{slot}: role {role}")
        require(-1 <= gradient_of < len(self.tensors), f"node {name}:{slot}: gradient of {gradient_of}")
        require(-1 <= update_of < len(self.tensors), f"node {name}:{slot}: update of {update_of}")
        self._check(name, dtype, shape, frames)
        self.tensors.append({"name": f"{name}:{slot}", "dtype": dtype, "shape": shape, "role": role, "alias": alias,
                             "producer": number, "gradient_of": gradient_of, "update_of": update_of})

    def _check(self, name: str, dtype: str, shape: Any, frames: Any) -> None:
        require(isinstance(dtype, str) and dtype.startswith("torch."), f"{name}: dtype {dtype!r}")
        require(type(shape) is tuple and all(type(n) is int for n in shape), f"{name}: shape {shape!r}")
        require(type(frames) is tuple and all(0 <= f < len(self.frames) for f in frames), f"{name}: frames {frames!r}")

    def _check_attribute(self, name: str, key: str, value: Any) -> None:
        items = value if isinstance(value, list) else [value]
        kinds = {type(item) for item in items}
        require(kinds <= {int, float, bool, str} and len(kinds) <= 1, f"node {name}: attribute {key} = {value!r}")

    def role(self, tensor: int, role: str) -> None:
        require(0 <= tensor < len(self.tensors) and role in ROLES | OUTPUT_ROLES, f"role {role} of {tensor}")
        self.write("role", tensor, role)
        self.tensors[tensor]["role"] = role

    def device(self, tensor: int, device: str) -> None:
        require(0 <= tensor < len(self.tensors), f"device of {tensor}: no such tensor")
        require(device and type(device) is str, f"device {device!r} of {tensor}")
        require("device" not in self.tensors[tensor], f"the device of {self.tensors[tensor]['name']} is known")
        self.write("device", tensor, device)
        self.tensors[tensor]["device"] = device

    def module(self, path: str, class_name: str) -> None:
        require(path and class_name and type(path) is type(class_name) is str, f"module {path!r}: {class_name!r}")
        require(path not in self.modules, f"module {path} is known")
        self.write("module", path, class_name)
        self.modules[path] = class_name

    def mesh(self, axis: str, index: int, size: int) -> None:
        require(type(axis) is str and axis and 0 <= index < size, f"mesh {axis!r}: {index} of {size}")
        self.write("mesh", axis, index, size)

    # --- iterations ---

    def begin(self, iteration: int) -> None:
        require(self.now is None, f"begin({iteration}) in iteration {self.now and self.now['number']}")
        require(not self.iterations or iteration > self.iterations[-1]["number"], f"begin({iteration}) goes back")
        self.write("begin", iteration)
        self.now = {"number": iteration, "ran": [], "seen": {}, "names": set(), "used": set(), "kept": {},
                    "same": {}, "scalars": None, "made": set(), "nodes": []}

    def _current(self, what: str) -> dict[str, Any]:
        require(self.now is not None, f"{what} outside an iteration")
        return self.now  # type: ignore[return-value]

    def ran(self, node: int) -> None:
        now = self._current(f"ran({node})")
        require(0 <= node < len(self.nodes), f"ran({node}): no such node")
        definition = self.nodes[node]
        name = definition["name"]
        require(name not in now["names"], f"{name} ran twice in iteration {now['number']}")
        for tensor in definition["inputs"]:
            made = tensor in now["made"] or self.tensors[tensor]["producer"] == -1
            require(made, f"{name} reads {self.tensors[tensor]['name']}, which did not run before it")
        self.write("ran", node)
        now["names"].add(name)
        now["ran"].append(node)
        now["nodes"].append(definition)
        now["used"].update(definition["inputs"])
        now["made"].update(definition["outputs"])

    def saw(self, tensor: int, t: Any) -> bool:
        now = self._current(f"saw({tensor})")
        require(0 <= tensor < len(self.tensors), f"saw({tensor}): no such tensor")
        definition = self.tensors[tensor]
        name = definition["name"]
        require(str(t.dtype) == definition["dtype"], f"saw({name}): dtype {t.dtype}, not {definition['dtype']}")
        if not t.is_cpu or not t.is_contiguous():
            return False
        if definition["producer"] >= 0:
            require(tensor in now["made"], f"saw({name}), which did not run")
        require(tensor not in now["seen"], f"saw({name}) twice in iteration {now['number']}")
        digest = hashed(t)
        self.write("saw", tensor, str(t.dtype), tuple(t.shape), digest)
        now["seen"][tensor] = {"shape": tuple(t.shape), "hash": digest, "odd": odd(t)}
        return True

    def saw_same(self, tensor: int, other: int) -> None:
        now = self._current(f"saw_same({tensor})")
        require(other in now["seen"], f"saw_same({tensor}, {other}), which was not seen")
        require(tensor not in now["seen"], f"saw_same({tensor}) twice")
        require(self.tensors[tensor]["producer"] == -1 or tensor in now["made"], f"saw_same({tensor}) did not run")
        self.write("saw_same", tensor, other)
        now["seen"][tensor] = now["seen"][other]

    def keep(self, tensor: int, t: Any) -> None:
        now = self._current(f"keep({tensor})")
        require(0 <= tensor < len(self.tensors), f"keep({tensor}): no such tensor")
        self.write("keep", tensor, str(t.dtype), tuple(t.shape))
        now["kept"][tensor] = hashed(t.contiguous())

    def end(self, scalars: dict[str, float]) -> None:
        now = self._current("end()")
        require(all(type(key) is str and type(value) is float for key, value in scalars.items()), f"end({scalars})")
        self.write("end", {key: value for key, value in scalars.items() if key != "step_time"})
        now["scalars"] = scalars
        self.iterations.append(now)
        self.now = None

    def metric(self, name: str, value: float) -> None:
        require(type(name) is str and name != "" and type(value) is float, f"metric({name}, {value})")
        self.write("metric", [name, value])

    def failed_at(self, node: int) -> None:
        require(0 <= node < len(self.nodes), f"failed_at({node})")
        self.write("failed_at", node)

    def stop_hit(self) -> None:
        return None

    def finish(self, state: str, message: str, status: int) -> None:
        require(state in ("finished", "failed", "stopped"), f"finish({state})")
        self.write("finish", state, message, status)
        if self.finished is None:
            self.finished = (state, message, status)
        if self.stream is not None:
            self.stream.flush()

    def child(self) -> None:
        self.was_child = True
        if self.stream is not None:
            self.stream = None

    # --- for tests ---

    def ran_in(self, index: int) -> list[dict[str, Any]]:
        return list(self.iterations[index]["nodes"])

    def seen_in(self, index: int) -> dict[str, Any]:
        return {self.tensors[t]["name"]: seen for t, seen in self.iterations[index]["seen"].items()}

    def versions(self) -> int:
        """Graphs that the run needs: each has all that an iteration used and the one before it had."""
        have: dict[str, Any] = {}
        sources: set[int] = set()
        count = 0
        for iteration in self.iterations:
            nodes = {node["name"]: (node["outputs"], node["inputs"], node["derived_from"]) for node in iteration["nodes"]}
            used = {t for t in iteration["used"] if self.tensors[t]["producer"] == -1}
            if any(have.get(name) != node for name, node in nodes.items()) or not used <= sources:
                have.update(nodes)
                sources |= used
                count += 1
        return count


def raw(t: Any) -> bytes:
    size = t.numel() * t.element_size()
    return ctypes.string_at(t.data_ptr(), size) if size else b""


def hashed(t: Any) -> str:
    return hashlib.sha256(raw(t)).hexdigest()[:16]


def odd(t: Any) -> str:
    """"nan", "inf", "-inf" or "", the first that there is."""
    if not t.dtype.is_floating_point or t.numel() == 0:
        return ""
    import torch
    with torch.no_grad(), torch._C._DisableTorchDispatch():
        values = t.detach().double()
        low, high = float(values.min()), float(values.max())
    if math.isnan(low) or math.isnan(high):
        return "nan"
    return "inf" if high == math.inf else "-inf" if low == -math.inf else ""

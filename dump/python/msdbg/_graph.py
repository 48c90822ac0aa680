"""What a recording has defined: sources and nodes, each told to the recorder once.

A node is found again by its name and what it makes. What it reads may be another thing in each iteration (a sequence of
another length): the node stays, and the recorder is told what it reads now.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Optional, Sequence

# One output as the recorder wants it: dtype, shape, role, alias, tensor id of which it is the gradient, of
# which it is the next value (-1: of none).
Output = tuple[Any, tuple[int, ...], str, str, int, int]


# Of what stands for many operators: the line that it is called on tells nothing of what it is. As definitions.cpp has it.
_OF_NO_LINE = ("torch", "torch.nn", "python", "autograd")
_OF_A_LINE = ("forward", "backward")


def device_of(tensor: Any) -> str:
    """"cpu", "cuda" for the device that this process works on, so that ranks have one graph; "cuda:3" for another."""
    device = tensor.device
    current = getattr(getattr(sys.modules["torch"], device.type, None), "current_device", lambda: 0)
    return str(device.type if device.index is None or device.index == current() else device)


class Scope:
    """A path in names, with the counters of what ran there in this iteration."""

    __slots__ = ("path", "slots")

    def __init__(self, path: str) -> None:
        self.path = path
        self.slots: dict[str, int] = {}  # by type: place in Graph.counts


class Entry:
    """A node. A name whose outputs are of another kind (dtype, role) has another one: a variant; and so has an operator of
    the forward pass that another line calls."""

    __slots__ = ("name", "node", "inputs", "outputs", "dtypes", "frames", "scope", "slot", "number", "phase", "quiet",
                 "grad_scope", "operator", "step", "derived_from", "line")

    def __init__(self, name: str, node: int, inputs: tuple[int, ...], outputs: tuple[int, ...],
                 dtypes: list[Any], frames: tuple[int, ...], scope: Scope) -> None:
        self.name = name
        self.node = node
        self.inputs = inputs
        self.outputs = outputs
        self.dtypes = dtypes
        self.frames = frames
        self.scope = scope
        self.slot = 0
        self.number = 1
        self.phase = "forward"
        self.quiet = False  # nothing was written yet: no statistics
        self.grad_scope: Optional[Scope] = None  # of the operators of its backward
        self.operator: Any = None
        self.step: Any = None  # the extension's Step of it
        self.derived_from = -1
        self.line = (-1, -1)  # the frames by which variants are told apart; -1: they are not


class Graph:
    def __init__(self, recorder: Any, own: Callable[[tuple[int, ...]], int]) -> None:
        """`own`: the first of some frames that is no installed package's, -1: none is."""
        self._recorder = recorder
        self._own = own
        self._sources: dict[str, tuple[int, str]] = {}  # id, dtype
        self._entries: dict[tuple[Any, ...], list[Entry]] = {}
        self._scopes: dict[str, Scope] = {}
        self.named: dict[str, Entry] = {}  # the newest variant of each name
        self.counts: list[int] = []
        self.roles: dict[int, str] = {}
        self.meant: dict[int, str] = {}  # tensors whose infinities are meant: of which signs
        self.producer: dict[int, int] = {}  # tensor id -> node id
        self._derived: dict[int, int] = {}  # node id -> the forward node that it comes from

    def scope(self, path: str) -> Scope:
        known = self._scopes.get(path)
        if known is None:
            known = self._scopes[path] = Scope(path)
        return known

    def slot(self, scope: Scope, kind: str) -> int:
        """Of the counter of this type in this scope."""
        known = scope.slots.get(kind)
        if known is None:
            known = scope.slots[kind] = len(self.counts)
            self.counts.append(0)
        return known

    def new_iteration(self) -> None:
        self.counts[:] = [0] * len(self.counts)  # the list stays: others hold it

    def source(self, name: str, tensor: Any, role: str, alias: str = "", trainable: bool = False,
               frames: tuple[int, ...] = ()) -> int:
        """A source has one dtype: with another one it is another source."""
        dtype = str(tensor.dtype)
        known = self._sources.get(name)
        if known is not None and known[1] != dtype:
            name = f"{name}:{dtype.replace('torch.', '')}"
            alias = ""
            known = self._sources.get(name)
        if known is not None:
            return known[0]
        number = self._recorder.source(name, dtype, tuple(tensor.shape), role, alias, trainable, frames)
        self._sources[name] = (number, dtype)
        self.roles[number] = role
        self._recorder.device(number, device_of(tensor))
        return number

    def node(self, scope: Scope, kind: str, number: int, domain: str, phase: str, inputs: tuple[int, ...],
             outputs: tuple[Output, ...], attributes: Optional[dict[str, Any]] = None,
             frames: tuple[int, ...] | Callable[[], tuple[int, ...]] = (), derived_from: int = -1,
             domain_type: str = "", made: Sequence[Any] = ()) -> Entry:
        """The entry of a node; it is defined where it is new, and again where it reads or comes from something else
        than the last time. `kind` is the type, and part of the name; `frames` may say how to find them, which is not
        done for a known one; `made`: the tensors that `outputs` describes, asked for where they lie."""
        name = f"{scope.path}/{kind}-op{number}"
        key = (name, domain, domain_type or kind, phase, tuple((str(o[0]),) + o[2:] for o in outputs))
        variants = self._entries.setdefault(key, [])
        if not isinstance(frames, tuple):
            for entry in variants:
                if entry.inputs == inputs and entry.derived_from == derived_from:
                    return entry
            frames = frames()
        has_line = frames and phase in _OF_A_LINE and domain not in _OF_NO_LINE
        line = (frames[0], self._own(frames)) if has_line else (-1, -1)
        for entry in variants:
            if entry.line == line and entry.inputs == inputs and entry.derived_from == derived_from:
                return entry
        node, ids = self._recorder.node(
            name, domain, domain_type or kind, phase, inputs,
            tuple((str(o[0]),) + o[1:] for o in outputs), attributes or {}, frames, derived_from)
        self._derived.pop(node, None)
        if derived_from >= 0:
            self._derived[node] = derived_from
        for entry in variants:
            if entry.line == line:
                self._revise(entry, inputs, frames, derived_from)
                return entry
        for tensor, output in zip(ids, outputs):
            self.roles[tensor] = output[2]
            self.producer[tensor] = node
        for number_of, tensor in zip(ids, made):
            self._recorder.device(number_of, device_of(tensor))
        entry = Entry(name, node, inputs, tuple(ids), [o[0] for o in outputs], frames, scope)
        self.named[name] = entry
        entry.slot, entry.number, entry.phase, entry.derived_from = self.slot(scope, kind), number, phase, derived_from
        entry.line = line
        variants.append(entry)
        return entry

    def came_between(self, entry: Entry, reader: Entry, inputs: tuple[int, ...]) -> None:
        """`entry` ran before `reader`, which ran already and reads this."""
        self._recorder.ran_before(entry.node, reader.node, inputs)
        self._revise(reader, inputs, reader.frames, reader.derived_from)

    def _revise(self, entry: Entry, inputs: tuple[int, ...], frames: tuple[int, ...], derived_from: int) -> None:
        entry.inputs, entry.frames, entry.derived_from = inputs, frames, derived_from
        self.named[entry.name] = entry
        if entry.step is not None:
            entry.step.simple = False  # it is still what comes next after some other step, and wrong by now
            entry.step = None

    def derived_of(self, inputs: tuple[int, ...]) -> int:
        """The forward node that the first of these comes from that comes from one (-1: none)."""
        for tensor in inputs:
            derived = self._derived.get(self.producer.get(tensor, -1), -1)
            if derived >= 0:
                return derived
        return -1

    def set_role(self, tensor: int, role: str) -> None:
        if self.roles.get(tensor) != role:
            self.roles[tensor] = role
            self._recorder.role(tensor, role)

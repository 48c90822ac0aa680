"""Operators as they are called: what each reads, where it belongs, what it made.

What comes here is not what came in the iteration before: that the extension's Follower runs, if there is one (see
_following). Needs torch.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Optional

import torch
from torch import Tensor

from msdbg._call import Call, Defining, again
from msdbg._collectives import wait_for, wait_functional
from msdbg._graph import Entry, Scope
from msdbg._operators import CHANGE, OVERWRITE, Operator, meant_as
from msdbg._origins import Origin, Origins
from msdbg._outside import Outside
from msdbg._parts import Parts
from msdbg._recording import Recording
from msdbg._reshapes import Reshapes
from msdbg._scopes import Scopes
from msdbg._tensors import local, storage_key
from msdbg._values import PARTS, Values

_task = torch._C._current_graph_task_id
_WAITING = os.path.join("torch", "distributed", "distributed_c10d.py")
_number = torch.autograd._get_sequence_nr


class Calls:
    def __init__(self, recording: Recording, scopes: Scopes) -> None:
        self._recording = recording
        self._scopes = scopes
        self.origins = Origins(recording)
        self._defining = Defining(recording, scopes, self.origins)
        self.trained = False  # backward() was called in this iteration
        self.create_graph = False
        self.in_backward = False  # backward() was called, autograd may not work yet
        self._seeds: dict[int, Origin] = {}  # by loss
        self._seed: Optional[Origin] = None
        self._known: dict[tuple[Any, ...], tuple[Any, ...]] = {}  # by operator, scope, number: its newest call
        self.arrived: Callable[[Call, Entry], None] = lambda call, entry: None
        self.seen_number = -1  # of autograd nodes, how many are known
        self._before: Any = None  # what ran last in the forward pass
        self._outside: dict[str, Scope] = {}
        self._written = Outside(recording)
        self._reshapes = Reshapes(recording)

    def new_iteration(self) -> None:
        self.origins.new_iteration()
        self._defining.facts.new_iteration()
        self.trained = False
        self.create_graph = False

    def resumed(self) -> None:
        """Autograd nodes that were made meanwhile are nobody's."""
        self._before = None
        self.seen_number = _number()

    def delivers(self, args: Any, frame: Any) -> bool:
        """Of copy_: the backend puts what a collective gave where it belongs, while the program waits for it (gloo's
        reduce_scatter). That is a part of the collective, which was waited for already."""
        if not frame.f_code.co_filename.endswith(_WAITING) or len(args) < 2 or not isinstance(args[1], Tensor):
            return False
        values = self._recording.values
        return values.known(args[1]) is None and values.known(args[0]) is not None

    # --- before it runs ---

    def before(self, operator: Operator, args: Any, kwargs: Any, frame: Any) -> Call:
        call = Call()
        call.operator, call.args, call.kwargs, call.frame = operator, args, kwargs, frame
        if _task() == -1:
            call.scope, call.origin = self._scopes.current or self.outside(), None
            if self.in_backward:
                self._seeding(call)
            call.place = (id(frame.f_code), frame.f_lasti)
        else:
            call.scope, call.origin = self._backward()
            call.place = None
        graph = self._recording.graph
        call.number = graph.counts[graph.slot(call.scope, operator.kind)] + 1
        self._gather(call)
        return call

    def seed(self, loss: int) -> None:
        """backward() is called on this one, of which the first gradient is 1."""
        known = self._seeds.get(loss)
        if known is None:
            node = self._recording.graph.producer.get(loss, -1)
            known = self._seeds[loss] = Origin("main", node, self._recording.frames.here())
            known.grad_scope = self._recording.graph.scope("grad/main")
        self._seed = known
        if self._before is not None:
            for number in range(self.seen_number, _number()):
                self.origins.own(number, self._before)

    def _seeding(self, call: Call) -> None:
        if self._seed is not None and self._seed.grad_scope is not None:
            call.scope, call.origin = self._seed.grad_scope, self._seed

    def outside(self) -> Scope:
        """That of the script itself, where what needs no gradients has counters of its own, so that an evaluation
        now and then renames nothing."""
        path = "main" if torch.is_grad_enabled() else "update/main" if self.trained else "main/no_grad"
        scope = self._outside.get(path)
        if scope is None:
            scope = self._outside[path] = self._recording.graph.scope(path)
        return scope

    def _backward(self) -> tuple[Scope, Any]:
        if torch.is_grad_enabled() and not self.create_graph:
            return self._scopes.current or self._recording.graph.scope("main/recomputed"), again
        return self.origins.now()

    def _gather(self, call: Call) -> None:
        """Tensors that it reads, as ids, and those that it writes."""
        operator = call.operator
        call.reads, call.targets, call.writes = [], [], []
        for index, (kind, value) in enumerate(zip(operator.kinds, call.args)):
            if kind:
                self._take(call, kind, value, operator.names[index], index, -1)
        for name, value in call.kwargs.items():
            kind = operator.named.get(name, 0)
            if kind:
                self._take(call, kind, value, name, -1, -1)
        if operator.running and len(call.args) > 5 and call.args[5] is True:
            for index in operator.running:
                if isinstance(call.args[index], Tensor):
                    call.targets.append(call.args[index])
                    call.writes.append((index, -1, -1))
        call.inputs = tuple([number for _, _, number in call.reads])

    def _take(self, call: Call, kind: int, value: Any, name: str, index: int, item: int) -> None:
        if isinstance(value, Tensor):
            if kind != OVERWRITE:
                number = self._recording.values.ids.get(storage_key(value), PARTS)
                if number == PARTS:
                    number = self._source(call, value, name, item >= 0)
                call.reads.append((index, item, number))
            if kind >= CHANGE:
                call.targets.append(value)
                call.writes.append((index, item, -1))
        elif isinstance(value, (list, tuple)):
            for at, thing in enumerate(value):
                if thing is not None:
                    self._take(call, kind, thing, f"{name}{at}", index, at)

    def _source(self, call: Call, tensor: Tensor, name: str, listed: bool) -> int:
        """Something that was made part by part, or elsewhere: named after its first reader, unless it is a
        parameter."""
        parts = self._recording.values.pieces(tensor)
        if parts is not None:
            return self._join(call, tensor, parts)
        self._recording.reach.read(tensor, call.frame)
        path = f"{call.scope.path}/{call.operator.kind}-op{call.number}/{name}"
        return self._recording.values.of(tensor, path, listed=listed)

    def _join(self, call: Call, tensor: Tensor, parts: Parts) -> int:
        """What a tensor shows whose storage was written part by part: no operator made it, so it is a node of its
        own."""
        recording, graph = self._recording, self._recording.graph
        slot = graph.slot(call.scope, "parts")
        backward = call.origin is not None and call.origin is not again
        frames = call.origin.frames if backward else recording.frames.at(call.frame)
        output = (tensor.dtype, tuple(tensor.shape), "gradient" if backward else "activation", "", -1, -1)
        meant = "".join(graph.meant.get(number, "") for number in parts.all())
        entry = graph.node(call.scope, "parts", graph.counts[slot] + 1, "torch",
                           "backward" if backward else "forward", parts.all(), (output,), meant_as(meant), frames,
                           graph.derived_of(parts.all()) if backward else -1, made=(tensor,))
        graph.counts[slot] = entry.number
        if meant:
            graph.meant[entry.outputs[0]] = meant
        recording.recorder.ran(entry.node)
        if parts.missing <= 0:  # else there are values that nobody wrote
            recording.values.see(entry.outputs[0], tensor)
        recording.values.joined(tensor, entry.outputs[0])
        return entry.outputs[0]

    def is_again(self, call: Call) -> bool:
        return call.origin is again

    def seeded(self, call: Call) -> bool:
        return call.origin is not None and call.origin is self._seed

    # --- after it ran ---

    def after(self, call: Call, out: Any) -> None:
        operator = call.operator
        if operator.waits:
            try:
                (wait_for if operator.domain == "c10d" else wait_functional)(out)
            except RuntimeError:  # another rank is gone: no failure of ours, and the program is told when it waits
                return
        values = self._recording.values
        made = list(call.targets)  # where that is a part of a storage, its values are those of the part
        self._fresh(out, values, made)
        if not made:  # it showed what was there, though its schema does not say so
            self.view(call.args, call.frame)
            return
        self._written.before(call, (operator, call.scope, call.number) in self._known)
        entry = self._entry(call, made)
        self._recording.graph.counts[entry.slot] = entry.number
        if call.origin is None or call.origin is again or self.create_graph:
            self.own(_number() - 1, entry)
        self.arrived(call, entry)
        self._recording.recorder.ran(entry.node)
        written = len(call.targets)
        for index, (tensor, number) in enumerate(zip(made, entry.outputs)):
            if entry.quiet:
                values.unwritten(tensor, number, entry.frames)
                continue
            if index - written in operator.scratch:
                values.put(tensor, number)
                continue
            values.wrote(tensor, number) if index < written else values.put(tensor, number)
            values.see(number, tensor)
        self._written.made(call, entry)

    def doubt(self, entry: Entry, args: Any, kwargs: Any) -> None:
        """The extension ran it: of finite values it made others."""
        call = Call()
        call.operator, call.args, call.kwargs, call.scope, call.number = entry.operator, args, kwargs or {}, entry.scope, 0
        self._gather(call)
        self._written.doubt(call, entry)

    def own(self, number: int, owner: Any) -> None:
        """The newest autograd node is this operator's, if it is new. Those between are of in-place writes to views,
        which get theirs after the operator ran."""
        if number >= self.seen_number:
            if self._before is not None:
                for between in range(self.seen_number, number):
                    self.origins.own(between, self._before)
            self.origins.own(number, owner)
            self.seen_number = number + 1
        self._before = owner

    def _fresh(self, out: Any, values: Values, made: list[Tensor]) -> None:
        """What it returned that nobody had."""
        if isinstance(out, Tensor):
            out = local(out)
            if storage_key(out) not in values.ids and not any(out is target for target in made):
                made.append(out)
        elif isinstance(out, (tuple, list)):
            for item in out:
                if item is not None:
                    self._fresh(item, values, made)

    def owns_all(self, since: int, owner: Any) -> None:
        """All autograd nodes since that number are of one piece."""
        self._before = owner
        for number in range(since, _number()):
            self.origins.own(number, owner)
        self.seen_number = _number()

    # --- a new one ---

    def _entry(self, call: Call, made: list[Tensor]) -> Entry:
        key, what = (call.operator, call.scope, call.number), (call.inputs, call.origin, call.place)
        known = self._known.get(key)
        if known is not None and known[0] == what:
            entry: Entry = known[1]
            if entry.inputs == call.inputs and entry.dtypes == [tensor.dtype for tensor in made]:
                return entry
        entry = self._defining.define(call, made, self.trained)
        self._known[key] = (what, entry)
        return entry

    def new_view(self, args: Any, frame: Any) -> None:
        """One in the iteration in which its function is met first; the extension folds those that come later."""
        if len(args) > 1 and type(args[1]) is list and _task() == -1 and isinstance(args[0], Tensor):
            self._reshapes.met(args[0], args[1], self._scopes.current or self.outside(), frame)
        self.view(args, frame)

    def view(self, args: Any, frame: Any) -> None:
        """A view shows what is there: no node. Its backward computes something all the same."""
        if _number() == self.seen_number or (_task() != -1 and not self.create_graph):
            return
        recording = self._recording
        shown = None
        if args and isinstance(args[0], Tensor):
            shown = recording.values.known(args[0])
            if shown is None:
                shown = recording.values.parameter(args[0], storage_key(args[0]))
        node = -1 if shown is None else recording.graph.producer.get(shown, -1)
        self.own(_number() - 1, self.origins.view(self._scopes.current or self.outside(), node, -1 if shown is None else shown, frame))

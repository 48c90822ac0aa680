"""One operator between the dispatch mode's two halves, and the node that it becomes. Needs torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from msdbg._collectives import facts_of
from msdbg._facts import Facts
from msdbg._graph import Entry, Output, Scope
from msdbg._operators import Operator, meant_as
from msdbg._origins import Origins
from msdbg._recording import Recording
from msdbg._scopes import Scopes

again = object()  # origin of what checkpointing computes again


class Call:
    """One operator between Calls.before() and after()."""

    __slots__ = ("operator", "args", "kwargs", "frame", "scope", "origin", "place", "number", "inputs", "reads", "targets",
                 "writes")

    operator: Operator
    args: Any
    kwargs: Any
    frame: Any
    scope: Scope
    origin: Any
    place: Any
    number: int
    inputs: tuple[int, ...]
    reads: list[tuple[int, int, int]]  # position, item or -1, tensor; of keywords: position -1
    targets: list[Tensor]
    writes: list[tuple[int, int, int]]


class Defining:
    """Tells the recorder of operators that are new, or read something new."""

    def __init__(self, recording: Recording, scopes: Scopes, origins: Origins) -> None:
        self._recording = recording
        self._scopes = scopes
        self._origins = origins
        self.facts = Facts()

    def define(self, call: Call, made: list[Tensor], trained: bool) -> Entry:
        """`made`: what it wrote and returned. `trained`: backward() was called in this iteration."""
        recording, operator, graph = self._recording, call.operator, self._recording.graph
        number = call.number
        phase = self._phase(call, trained)
        outputs = tuple(self._output(call, phase, tensor, index < len(call.targets))
                        for index, tensor in enumerate(made))
        if call.origin is None or call.origin is again:
            frames = recording.frames.at(call.frame)
        else:
            frames = recording.frames.in_backward(call.frame) + call.origin.frames
        attributes = operator.attributes(call.args, call.kwargs)
        meant = operator.meant(call.args, call.kwargs, "".join(graph.meant.get(i, "") for i in call.inputs))
        if operator.collective:
            attributes.update(facts_of(operator.names, call.args))
        attributes.update(meant_as(meant))
        if phase == "forward":
            name = f"{call.scope.path}/{operator.kind}-op{number}"
            attributes.update(self.facts.of((name, frames[:1]), operator.kind, call.args, call.kwargs, made))
            attributes.update(self._new_parameter(call))
        origin, derived = call.origin, -1
        if origin is again:
            attributes["recomputed"] = True
            first = graph.named.get(f"{call.scope.path.split('#')[0]}/{operator.kind}-op{number}")
            derived = -1 if first is None else first.node
        elif origin is not None:
            derived = self._origins.node_of(origin)
        if derived < 0 and origin is not None and origin is not again:
            derived = graph.derived_of(call.inputs)
        entry = graph.node(call.scope, operator.kind, number, operator.domain, phase, call.inputs, outputs,
                           attributes, frames, derived, made=made)
        entry.quiet, entry.operator = operator.unwritten, operator
        self.facts.defined(entry, call.args)
        if meant:
            graph.meant.update(dict.fromkeys(entry.outputs, meant))
        for source in call.inputs:
            if graph.roles.get(source) == "parameter":
                self._origins.used(source, entry)
        return entry

    def _new_parameter(self, call: Call) -> dict[str, int]:
        """Which of its inputs is a Parameter that no module and no optimizer has, of values that were made just now."""
        for thing in call.args:
            if isinstance(thing, torch.nn.Parameter) and thing.requires_grad and self._recording.names.parameter(thing) is None:
                number = self._recording.values.known(thing)
                if number in call.inputs and self._recording.graph.producer.get(number, -1) >= 0:
                    return {"new_parameter": call.inputs.index(number)}
        return {}

    def _phase(self, call: Call, trained: bool) -> str:
        if call.operator.collective:
            return "collective"
        if call.origin is not None:
            return "backward"
        if trained and not torch.is_grad_enabled() and self._scopes.current is None:
            return "update"
        return "forward"

    def _output(self, call: Call, phase: str, tensor: Tensor, target: bool) -> Output:
        graph = self._recording.graph
        shape = tuple(tensor.shape)
        if target:
            before = self._recording.values.before(tensor)
            role = "" if before is None else graph.roles.get(before, "")
            if before is not None and role in ("parameter", "updated"):
                return (tensor.dtype, shape, "updated", "", -1, before)
            if role == "gradient":
                return (tensor.dtype, shape, "gradient", "", -1, -1)
        if phase == "backward" or (phase != "forward" and any(
                graph.roles.get(number) == "gradient" for number in call.inputs)):
            return (tensor.dtype, shape, "gradient", "", -1, -1)
        return (tensor.dtype, shape, "activation", "", -1, -1)

"""Turns of parameters in steps of optimizers that are what they were in the iteration before: the extension tells them
without Python code. What is not, or of another kind (DTensor, sparse), _optimizers tells.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import torch

from msdbg._graph import Entry
from msdbg._names import Parameter
from msdbg._recording import Recording
from msdbg._tensors import PLAIN, storage_key

_NO_STATE: dict[str, Any] = {}


class Read(NamedTuple):
    """A parameter that the step in progress has read."""

    known: Parameter
    tensor: Any
    now: int  # the tensor that it is
    made: Optional[int]  # the value that became the gradient
    gradient: Entry
    rate: tuple[int, ...]  # the source of its learning rate, if there is one
    turn: int  # which one this is of the parameter in the iteration
    quick: int = -1  # the extension's number of it; -1: it was told by Python code
    update: Optional[Entry] = None  # that this has become, if nothing differs from the iteration before


class _Known(NamedTuple):
    number: int  # the extension's
    read: tuple[int, Optional[int], Entry, tuple[int, ...]]  # now, made, gradient, rate
    nodes: tuple[tuple[Entry, tuple[int, ...]], ...]  # with what they read: they may have been told otherwise since

    def holds(self) -> bool:
        return all(node.inputs is inputs for node, inputs in self.nodes)


class Turns:
    """Without an extension that has them it does nothing."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._quick: Any = None
        self._known: dict[tuple[int, str, int], _Known] = {}  # by optimizer, name, turn

    def read(self, optimizer: int, known: Parameter, tensor: Any, turn: int,
             rate: tuple[int, ...]) -> Optional[Read]:
        """None: it is to be told."""
        quick = self._known.get((optimizer, known.name, turn))
        if quick is None or quick.read[-1] != rate or not quick.holds():
            return None
        if not self._quick.read(quick.number, tensor, self._recording.level.otherwise(known)):
            return None
        return Read(known, tensor, *quick.read, turn, quick.number, quick.nodes[1][0])

    def write(self, read: Read, optimizer: Any) -> Optional[Entry]:
        """Its update; None: it is to be told."""
        if read.update is None or not self._quick.write(read.quick, read.tensor,
                                                        optimizer.state.get(read.tensor, _NO_STATE)):
            return None
        return read.update

    def learn(self, optimizer: int, of: Any, read: Read, update: Entry, states: list[tuple[str, Any, int]]) -> None:
        """It was told by Python code, in a step of the optimizer `of`; the next time it may be the same. `states`: key,
        values, source."""
        quick, tensor, names = self._turns(), read.tensor, self._recording.names
        if quick is None or not all(type(t) in PLAIN and t.layout is torch.strided
                                    for t in (tensor, *(state for _, state, _ in states))):
            return
        owner = names.of_storage(storage_key(tensor))
        if owner is not None and (owner.source != read.now or owner.tensor() is not tensor):
            owner = None  # tied, or an earlier turn's
        key = (optimizer, read.known.name, read.turn)
        number = quick.learn(
            self._known[key].number if key in self._known else -1, owner, tensor, read.now,
            -1 if read.made is None else read.made, self._recording.level.exact, read.gradient.node,
            read.gradient.outputs[0], update.node, update.outputs, len(of.state.get(tensor, _NO_STATE)), tuple(states))
        self._known[key] = _Known(number, (read.now, read.made, read.gradient, read.rate),
                                  ((read.gradient, read.gradient.inputs), (update, update.inputs)))

    def _turns(self) -> Any:
        recording = self._recording
        if self._quick is None and hasattr(recording.module, "Turns"):
            values = recording.values
            self._quick = recording.module.Turns(
                recording=recording.recorder, plain=PLAIN, ids=values.ids, held=values.held, seen=values.seen,
                see=values.see, parameters=values.parameters)
        return self._quick

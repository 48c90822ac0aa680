"""Level modules: what modules read and return, forward and backward, with the frames of their calls.

What lies between modules (functions, sums) is one node "functional" where its result is read next. Gradients are
those of what modules return, by hooks of tensors that change nothing. Compiled modules are seen from outside.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Iterable, Optional

import torch
from torch import Tensor

from msdbg._graph import Entry, Scope
from msdbg._inputs import named_inputs
from msdbg._measure import attributes_of
from msdbg._names import Parameter, class_name
from msdbg._recording import Recording
from msdbg._scopes import Scopes
from msdbg._tensors import all_plain, dense, local, storage_key, tensors_in, version_of
from msdbg._train import Train

_task = torch._C._current_graph_task_id


class _Place:
    """A module that is at work, or the script around them."""

    __slots__ = ("inputs", "open")

    def __init__(self, inputs: list[int]) -> None:
        self.inputs = inputs  # what it was called with
        self.open: list[int] = []  # what was made in it and nothing in it has read yet


class Modules(Train):
    name = "modules"

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording)
        self._scopes = Scopes(recording, _is_evaluation, self._entered, self._left)
        self._places: list[_Place] = [_Place([])]
        self._versions: dict[int, int] = {}  # storage -> version of the value that is known of it
        self._readers: dict[int, Entry] = {}  # tensor -> the node that read it first
        self._gradients: dict[int, int] = {}  # tensor -> its gradient
        self._users: dict[str, Entry] = {}  # path of a module -> its node

    def start(self) -> None:
        self._scopes.start()

    def stop(self) -> None:
        self._scopes.stop()

    def optimizer_made(self) -> None:
        pass

    def new_iteration(self) -> None:
        super().new_iteration()
        self._scopes.new_iteration()
        self._places = [_Place([]) for _ in self._places]
        for known in (self._versions, self._readers, self._gradients, self._users):
            known.clear()

    def enter_scope(self, name: str) -> Callable[[], None]:
        return self._scopes.enter(name) if self.recording.ready() else lambda: None

    # --- calls ---

    def _off(self) -> bool:
        return self._scopes.muted or _task() != -1 or not self.recording.trains() or not self.recording.ready()

    def _entered(self, module: Any, args: Any, outermost: bool) -> None:
        if self._off():
            self._places.append(_Place([]))
            return
        if outermost:
            if torch.is_grad_enabled():
                self.recording.modes.called(module, sys._getframe(1))
            path = self.recording.names.module(module)
            self._root = path
            for name, tensor, role in named_inputs(module, path, args, {}):
                if self._known(tensor) is None and all_plain((type(tensor),)):
                    self._put(tensor, self.recording.values.of(tensor, name, role))
        inputs = [self._value(tensor) for _, tensor in tensors_in(args) if all_plain((type(tensor),))]
        self._close(inputs)
        self._places.append(_Place(inputs))

    def _left(self, module: Any, args: Any, result: Any, outermost: bool) -> None:
        if len(self._places) < 2:
            return
        place = self._places.pop()
        if self._off():
            return
        for _, tensor in tensors_in(result):
            if not all_plain((type(tensor),)):
                continue
            number = self._known(tensor)
            if number is None or (number in place.inputs and not self._same(tensor)):
                number = self._made(module, place, tensor)
            if number not in self._places[-1].open:
                self._places[-1].open.append(number)

    def _made(self, module: Any, place: _Place, tensor: Tensor) -> int:
        path = self.recording.names.module(module)  # FSDP puts what it gathered where the parameters were
        own = [self.recording.values.of(p, f"whole({path}/{name})")
               for name, p in module._parameters.items() if p is not None]
        inner = place.open
        inputs = tuple(dict.fromkeys(place.inputs + inner + own))
        scope = self._scopes.current or self.recording.graph.scope("main")
        entry = self._node(scope, class_name(module), inputs, tensor)
        if torch.is_grad_enabled():  # else no gradient comes back from it
            self._users.setdefault(scope.path.split("#")[0], entry)
        return entry.outputs[0]

    def _close(self, read: Iterable[int]) -> None:
        place = self._places[-1]
        place.open = [number for number in place.open if number not in read]

    # --- values ---

    def _known(self, tensor: Tensor) -> Optional[int]:
        number = self.recording.values.known(tensor)
        return number if number is not None and self._same(tensor) else None

    def _same(self, tensor: Tensor) -> bool:
        """Nobody wrote to it since it was looked at."""
        return self._versions.get(storage_key(dense(tensor))) == version_of(tensor)

    def _put(self, tensor: Tensor, number: int) -> None:
        self.recording.values.put(tensor, number)
        self._versions[storage_key(dense(tensor))] = version_of(tensor)

    def _value(self, tensor: Tensor) -> int:
        """What a module is called with: known, or computed between modules, or from outside."""
        number = self._known(tensor)
        if number is not None:
            return number
        place = self._places[-1]
        here = tuple(dict.fromkeys(place.inputs + place.open))
        scope = self._scopes_before()
        if here and tensor.grad_fn is not None:
            return self._node(scope, "functional", here, tensor).outputs[0]
        count = self.recording.graph.slot(scope, "input")
        self.recording.graph.counts[count] += 1
        number = self.recording.values.of(tensor, f"{scope.path}/input{self.recording.graph.counts[count]}")
        self._versions[storage_key(dense(tensor))] = version_of(tensor)
        return number

    def _scopes_before(self) -> Scope:
        """Of the module that calls the one which is entered."""
        return self._scopes.outer() or self.recording.graph.scope("main")

    def _node(self, scope: Scope, kind: str, inputs: tuple[int, ...], tensor: Tensor, role: str = "activation") -> Entry:
        recording = self.recording
        graph = recording.graph
        slot = graph.slot(scope, kind)
        graph.counts[slot] += 1
        entry = graph.node(scope, kind, graph.counts[slot], "torch.nn", "forward", inputs,
                           ((tensor.dtype, tuple(tensor.shape), role, "", -1, -1),),
                           attributes_of(tensor) if role == "loss" else None, recording.frames.here, made=(tensor,))
        recording.recorder.ran(entry.node)
        number = entry.outputs[0]
        self._put(tensor, number)
        recording.values.see(number, tensor)
        for read in inputs:
            self._readers.setdefault(read, entry)
        if tensor.grad_fn is not None:
            tensor.register_hook(lambda gradient, number=number: self._gradient_of(number, gradient))
        return entry

    # --- backward ---

    def _gradient_of(self, number: int, gradient: Optional[Tensor]) -> None:
        if gradient is None:  # autograd has none: nobody needs it, as DDP's search for unused parameters finds
            return
        self.recording.guard(self._backward, number, gradient)

    def _backward(self, number: int, gradient: Tensor) -> None:
        """The gradient of a value: made by the backward of who read it."""
        reader = self._readers.get(number)
        recording = self.recording
        if reader is None or number in self._gradients or not recording.watching:
            return
        graph = recording.graph
        inputs = tuple(self._gradients[out] for out in reader.outputs if out in self._gradients)
        if not inputs and self._loss is not None:
            inputs = (self._loss,)
        kind = reader.name.rsplit("/", 1)[-1].rsplit("-op", 1)[0]
        place = reader.inputs.index(number) + 1 + 1000 * (reader.number - 1)
        gradient = dense(local(gradient))
        entry = graph.node(graph.scope(f"grad/{reader.scope.path}"), kind, place, "torch.nn", "backward", inputs,
                           ((gradient.dtype, tuple(gradient.shape), "gradient", "", number, -1),),
                           frames=reader.frames, derived_from=reader.node, made=(gradient,))
        recording.recorder.ran(entry.node)
        recording.values.see(entry.outputs[0], gradient)
        self._gradients[number] = entry.outputs[0]

    def backward(self, loss: Tensor, create_graph: bool) -> None:
        """The loss is what was computed from what modules returned, and from labels."""
        recording = self.recording
        if not recording.ready():
            return
        place = self._places[-1]
        known = self._known(loss)
        if known is not None:
            recording.graph.set_role(known, "loss")
            self._loss = known
            return
        batch, self._batch = self._batch, []
        for name, reference, role, version in batch:
            tensor = reference()
            if tensor is not None and version_of(tensor) == version and self._known(tensor) is None:
                self._put(tensor, recording.values.of(tensor, name, role))
                place.open.append(recording.values.of(tensor, name, role))
        self._losses += 1
        scope = recording.graph.scope(self._root)
        entry = self._node(scope, "loss", tuple(dict.fromkeys(place.inputs + place.open)), loss, "loss")
        self._loss = entry.outputs[0]
        place.open = []

    def otherwise(self, known: Parameter) -> Optional[int]:
        user = self._users.get(known.scope)
        if user is not None and user.outputs[0] in self._gradients:
            return self._gradients[user.outputs[0]]
        return self._loss

    def frames_of(self, known: Parameter) -> tuple[int, ...]:
        user = self._users.get(known.scope)
        return () if user is None else user.frames


def _is_evaluation(module: Any) -> bool:
    return not torch.is_grad_enabled() and not module.training

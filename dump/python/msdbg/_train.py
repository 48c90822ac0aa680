"""Level train: losses, batches, parameters, gradients, optimizer states; one node for all that is computed from batch
to loss. No hook of modules beyond the root's inputs, no dispatch mode: nothing that torch.compile could notice.
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from typing import Any, Callable, Optional

import torch
from torch import Tensor

from msdbg._inputs import named_inputs
from msdbg._level import Level
from msdbg._measure import attributes_of
from msdbg._names import Parameter
from msdbg._recording import Recording
from msdbg._tensors import dense, local, version_of

_MOST = 64  # tensors of batches that wait for a loss


class _Hook:
    """What a root module carries while it is recorded. The program may copy or pickle the module with it: what comes
    out does nothing, and needs no msdbg where it is loaded."""

    def __init__(self, called: Callable[[Any, Any, Any], None]) -> None:
        self._called = called

    def __call__(self, module: Any, args: Any, kwargs: Any) -> None:
        self._called(module, args, kwargs)

    def __deepcopy__(self, memo: Any) -> Any:
        return contextlib.nullcontext().__exit__

    def __reduce__(self) -> Any:
        return getattr, (contextlib.nullcontext(), "__exit__")


class Train(Level):
    name = "train"

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording)
        self._batch: list[tuple[str, Any, str, int]] = []  # name, weak reference, role, version
        self._root = "main"
        self._losses = 0
        self._loss: Optional[int] = None
        self._hooks: dict[int, Any] = {}

    def start(self) -> None:
        self.recording.patches.wrap(torch, "compile", self._wrap_compile)
        self.optimizer_made()

    def stop(self) -> None:
        for handle in self._hooks.values():
            handle.remove()
        self._hooks.clear()

    def new_iteration(self) -> None:
        self._losses = 0
        self._loss = None

    def optimizer_made(self) -> None:
        for root in self.recording.names.roots():
            if id(root) in self._hooks or getattr(root, "_compiled_call_impl", None) is not None:
                continue
            if type(root).__name__ == "OptimizedModule":
                continue
            self._hooks[id(root)] = root.register_forward_pre_hook(_Hook(self._called), with_kwargs=True)

    def _wrap_compile(self, original: Any) -> Any:
        def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:  # noqa: A001: torch's name
            handle = self._hooks.pop(id(model), None)
            if handle is not None:  # what is compiled has no hook of ours
                handle.remove()
            return original(model, *args, **kwargs)

        return compile

    def _called(self, module: Any, args: Any, kwargs: Any) -> None:
        if torch.is_grad_enabled() and torch._C._current_graph_task_id() == -1:
            self.recording.guard(self.recording.by_hand.forward_begins)
            self.recording.guard(self._inputs, module, args, kwargs)
            self.recording.guard(self.recording.modes.called, module, sys._getframe(1))

    def _inputs(self, module: Any, args: Any, kwargs: Any) -> None:
        path = self.recording.names.module(module)
        self._root = path
        known = {id(reference()) for _, reference, _, _ in self._batch}
        self._batch = [kept for kept in self._batch if not kept[0].startswith(path + "/")]  # of the call before
        self._keep([(name, tensor, role) for name, tensor, role in named_inputs(module, path, args, kwargs)
                    if id(tensor) not in known])

    def batch(self, tensors: list[tuple[str, Tensor, str]]) -> None:
        self._batch.clear()  # the last one before a loss is what the loss is of
        self._keep(tensors)

    def _keep(self, tensors: list[tuple[str, Tensor, str]]) -> None:
        for name, tensor, role in tensors[:_MOST - len(self._batch)]:
            self._batch.append((name, weakref.ref(tensor), role, version_of(tensor)))

    def backward(self, loss: Tensor, create_graph: bool) -> None:
        """The forward node: it read the batch and gave this loss."""
        recording = self.recording
        if not recording.ready():
            return
        batch, self._batch = self._batch, []
        inputs: list[int] = []
        for name, reference, role, version in batch:
            tensor = reference()
            if tensor is None or version_of(tensor) != version:  # gone, or not what the loss was computed from
                continue
            number = recording.values.of(tensor, name, role)
            if number not in inputs:
                inputs.append(number)
        self._forward(dense(local(loss)), tuple(inputs))

    def _forward(self, loss: Tensor, inputs: tuple[int, ...]) -> None:
        recording = self.recording
        self._losses += 1
        entry = recording.graph.node(
            recording.graph.scope(self._root), "forward", self._losses, "torch", "forward", inputs,
            ((loss.dtype, tuple(loss.shape), "loss", "", -1, -1),), attributes_of(loss), recording.frames.here,
            made=(loss,))
        recording.recorder.ran(entry.node)
        recording.values.see(entry.outputs[0], loss)
        self._loss = entry.outputs[0]

    def gradient(self, gradient: Tensor, known: Parameter) -> Optional[int]:
        return self.otherwise(known)

    def otherwise(self, known: Parameter) -> Optional[int]:
        return self._loss

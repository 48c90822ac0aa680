"""torch.compile at level ops: what is compiled stays compiled, with the bits that it has without a recording, and is one
node for each call: what it read and returned, and the same of its backward. MSDBG_COMPILE=eager lets it run operator by
operator instead. Needs torch.
"""

from __future__ import annotations

import functools
import os
from typing import Any, Callable, Iterator, Optional

import torch
from torch import Tensor

from msdbg._calls import Calls
from msdbg._graph import Entry, Scope
from msdbg._recording import Recording
from msdbg._scopes import Scopes
from msdbg._tensors import all_plain, local, storage_key, tensors_in

_task = torch._C._current_graph_task_id
_number = torch.autograd._get_sequence_nr
_NODE = "CompiledFunctionBackward"


def runs_eagerly() -> bool:
    """Raises ValueError where MSDBG_COMPILE is neither "keep" nor "eager"."""
    wanted = os.environ.get("MSDBG_COMPILE") or "keep"
    if wanted not in ("keep", "eager"):
        raise ValueError(f"MSDBG_COMPILE={wanted} is neither keep nor eager")
    return wanted == "eager"


def wrap_compile(recording: Recording) -> None:
    """What torch.compile returns asks the level how it is run. For the life of a recording: levels change, and a
    function is compiled once."""
    recording.patches.wrap(torch, "compile", lambda original: _compile(recording, original))


def _compile(recording: Recording, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compile(*args: Any, **kwargs: Any) -> Any:  # noqa: A001: torch's name
        result = original(*args, **kwargs)
        if args[:1] == (None,) or not (args or kwargs.get("model")):
            return result  # a decorator, which calls compile() itself
        if isinstance(result, torch.nn.Module):
            if "forward" in vars(result):
                result.forward = _asking(recording, result.forward, result)
            return result
        return _asking(recording, result, None)

    return compile


def _asking(recording: Recording, function: Callable[..., Any], module: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return function(*args, **kwargs)
        compiled: Optional[Compiled] = getattr(recording.level, "compiled", None)
        if compiled is None:
            return function(*args, **kwargs)
        return compiled.run(function, module, args, kwargs)

    return run


class Compiled:
    """The calls of one level ops. `on`: whether operators are recorded now; `suspend`, `resume`: the level's."""

    def __init__(self, recording: Recording, calls: Calls, scopes: Scopes, on: Callable[[], bool],
                 suspend: Callable[[], None], resume: Callable[[], None]) -> None:
        self._recording = recording
        self._calls = calls
        self._scopes = scopes
        self._on = on
        self._suspend = suspend
        self._resume = resume
        self._in_backward = 0

    def run(self, function: Callable[..., Any], module: Any, args: Any, kwargs: Any) -> Any:
        if not self._on() or _task() != -1:
            return function(*args, **kwargs)
        recording = self._recording
        inputs = recording.guard(self._inputs, module, args, kwargs) if recording.ready() else None
        since = _number()
        self._suspend()
        try:
            out = function(*args, **kwargs)
        finally:
            self._resume()
        if inputs is not None:
            recording.guard(self._ran, module, inputs, out, since)
        return out

    def backward_ended(self) -> None:
        """What failed within a backward did not say that it ended."""
        while self._in_backward > 0:
            self._left()

    # --- forward ---

    def _scope(self, module: Any) -> Scope:
        if module is None:
            return self._scopes.current or self._calls.outside()
        return self._recording.graph.scope(self._recording.names.module(module))

    def _inputs(self, module: Any, args: Any, kwargs: Any) -> tuple[int, ...]:
        """What it is given, and the parameters of a module."""
        values, scope = self._recording.values, self._scope(module)
        self._suspend()
        try:
            found = [values.of(tensor, f"{scope.path}/compiled/{path}", "input")
                     for path, tensor in (*tensors_in(args), *tensors_in(kwargs)) if all_plain((type(local(tensor)),))]
            for parameter in () if module is None else module.parameters():
                number = values.known(parameter)
                found.append(values.of(parameter, f"{scope.path}/parameter") if number is None else number)
        finally:
            self._resume()
        return tuple(dict.fromkeys(found))

    def _ran(self, module: Any, inputs: tuple[int, ...], out: Any, since: int) -> None:
        made = self._new(tensor for _, tensor in tensors_in(out))
        if not made:
            return
        frames = self._recording.frames.here()
        entry = self._node(self._scope(module), "forward", inputs, made, frames, -1)
        self._calls.owns_all(since, entry)
        for node in _backward_nodes(made, since):
            self._watch(node, entry, made)

    def _new(self, tensors: Any) -> list[Tensor]:
        """Those that nobody had, each storage once."""
        ids, found = self._recording.values.ids, {}
        for tensor in tensors:
            key = storage_key(tensor)
            if key not in ids:
                found.setdefault(key, tensor)
        return list(found.values())

    def _node(self, scope: Scope, phase: str, inputs: tuple[int, ...], made: list[Tensor], frames: tuple[int, ...],
              derived: int) -> Entry:
        recording, graph = self._recording, self._recording.graph
        slot = graph.slot(scope, "compiled")
        role = "activation" if phase == "forward" else "gradient"
        outputs = tuple((tensor.dtype, tuple(tensor.shape), role, "", -1, -1) for tensor in made)
        entry = graph.node(scope, "compiled", graph.counts[slot] + 1, "torch", phase, inputs, outputs, {}, frames, derived,
                           made=made)
        graph.counts[slot] = entry.number
        recording.recorder.ran(entry.node)
        self._suspend()
        try:
            for tensor, number in zip(made, entry.outputs):
                recording.values.put(tensor, number)
                recording.values.see(number, tensor)
        finally:
            self._resume()
        return entry

    # --- backward ---

    def _watch(self, node: Any, entry: Entry, made: list[Tensor]) -> None:
        """One node for what autograd computes in `node`, where the mode is off meanwhile."""
        def before(gradients: Any) -> None:
            self._in_backward += 1
            self._suspend()

        def after(computed: Any, given: Any) -> None:
            if self._in_backward > 0:
                self._left()
            if self._recording.watching:
                self._recording.guard(self._ran_backward, entry, given, computed)

        node.register_prehook(before)
        node.register_hook(after)

    def _left(self) -> None:
        self._in_backward -= 1
        self._resume()

    def _ran_backward(self, entry: Entry, given: Any, computed: Any) -> None:
        made = self._new(tensor for tensor in computed if isinstance(tensor, Tensor))
        if not made:
            return
        known = [self._recording.values.known(tensor) for tensor in given if isinstance(tensor, Tensor)]
        inputs = tuple(dict.fromkeys([*(n for n in known if n is not None), *entry.inputs]))
        scope = self._recording.graph.scope(f"grad/{entry.scope.path}/{_NODE}")
        self._node(scope, "backward", inputs, made, entry.frames, entry.node)


def _backward_nodes(made: list[Tensor], since: int) -> Iterator[Any]:
    """Of compiled functions among what was made since that sequence number: behind breaks of a graph there are more."""
    waiting = [tensor.grad_fn for tensor in made if tensor.grad_fn is not None]
    met = set()
    while waiting:
        node = waiting.pop()
        if node in met or not since <= node._sequence_nr() < 2**63:
            continue
        met.add(node)
        if node.name().rsplit("::", 1)[-1] == _NODE:
            yield node
        waiting += [below for below, _ in node.next_functions if below is not None]

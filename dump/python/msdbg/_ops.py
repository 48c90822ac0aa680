"""Level ops: every operator of forward, backward and update, by a dispatch mode.

Here is when the mode is on; what it makes of an operator is in _calls.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Optional

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from msdbg._calls import Calls
from msdbg._compiled import Compiled, runs_eagerly
from msdbg._following import Following
from msdbg._inputs import named_inputs
from msdbg._level import NO_STEP, Level
from msdbg._names import Parameter
from msdbg._operators import Operator
from msdbg._recording import Recording
from msdbg._recurrent import LAYERS, Recurrent
from msdbg._scopes import Scopes
from msdbg._tensors import all_plain, any_fake, dense, local, storage_key

_frame = sys._getframe
_task = torch._C._current_graph_task_id


class _Mode(TorchDispatchMode):
    """Gives every operator to `handle`."""

    def __init__(self, handle: Callable[..., Any]) -> None:
        super().__init__()
        self.handle = handle

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch wraps __torch_dispatch__, which costs more than the rest of the mode

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.handle(func, types, args, kwargs or {})


class Ops(Level):
    name = "ops"
    nothing = NO_STEP
    exact = True

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording)
        self._mode = _Mode(self._dispatch)
        self._on = False
        self._suspended = 0
        self._evaluating = False  # a root module computes for an evaluation
        self._quiet = False  # after it, until gradients are wanted again
        self._thread = threading.get_ident()
        self._stopped = False
        self._operators: dict[int, Operator] = {}
        self._scopes = Scopes(recording, _is_evaluation, self._entered, self._left)
        self._calls = Calls(recording, self._scopes)
        self._following = Following(recording, self._calls, self._scopes, self._dispatch)
        self.compiled: Optional[Compiled] = None  # None: what is compiled runs operator by operator
        if not runs_eagerly():
            self.compiled = Compiled(recording, self._calls, self._scopes, lambda: self._on and not self._quiet,
                                     self.suspend, self.resume)
        self._views: list[Any] = []  # functions that were met in this iteration
        self._recurrent = Recurrent(recording)
        self._loss: Optional[int] = None
        self._said: set[str] = set()
        self._made_eager = False

    # --- the mode is on while something is recorded ---

    def start(self) -> None:
        self._eager(self.compiled is None)
        if self.recording.cycle.any() or self.recording.iteration > 0:
            self.optimizer_made()

    def optimizer_made(self) -> None:
        if not self._scopes.active and not self._stopped:
            self._scopes.start()
            self._switch()

    def stop(self) -> None:
        self._stopped = True
        self._scopes.stop()
        self._switch()
        self._follow()
        self._eager(False)

    def _switch(self) -> None:
        """The mode goes on or off as its conditions are. It can only go off while it is the innermost one."""
        wanted = self._scopes.active and self._suspended == 0 and not self._evaluating and not self._stopped
        if wanted and not self._on:
            torch._C._push_on_torch_dispatch_stack(self._mode)
            self._on = True
            self._calls.resumed()
        elif not wanted and self._on:
            depth = torch._C._len_torch_dispatch_stack()
            if depth and torch._C._get_dispatch_stack_at(depth - 1) is self._mode:
                torch._C._pop_torch_dispatch_stack(None)
                self._on = False

    def suspend(self) -> None:
        if threading.get_ident() != self._thread:
            return
        self._suspended += 1
        if self._suspended == 1:
            self._switch()
            self._follow()

    def resume(self) -> None:
        if threading.get_ident() != self._thread:
            return
        self._suspended -= 1
        if self._suspended == 0:
            self._switch()
            self._follow()

    def _eager(self, wanted: bool) -> None:
        """Compiled code runs as it was written while operators are recorded."""
        if wanted == self._made_eager:
            return
        self._made_eager = wanted
        if hasattr(torch.compiler, "set_stance"):
            torch.compiler.set_stance("force_eager" if wanted else "default")
        else:
            torch._dynamo.config.disable = wanted
        if wanted:
            self._say("MSDBG_COMPILE=eager: what is compiled runs as it was written, operator by operator, while level "
                      "ops is recorded, so its bits may differ from those of an unrecorded run")

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            print(f"msdbg: {text}", file=sys.stderr)

    @property
    def create_graph(self) -> bool:
        return self._calls.create_graph

    @create_graph.setter
    def create_graph(self, wanted: bool) -> None:
        self._calls.create_graph = wanted
        self._follow()

    # --- an iteration ---

    def new_iteration(self) -> None:
        self._scopes.new_iteration()
        self._calls.new_iteration()
        self._following.new_iteration()
        self._fold()
        self._loss = None

    def _fold(self) -> None:
        """Views that were met in an iteration are looked at no more, but for what autograd makes of them."""
        if self._following.follower is not None:
            for func in self._views:
                self._following.fold(func)
            self._views.clear()

    def began(self) -> None:
        if self._following.follower is None:
            follower = self._following.make()
            if follower is not None:
                self._mode.handle = follower
        self.suspend()
        try:
            self.recording.values.preload()
        finally:
            self.resume()
        self._follow()

    def _follow(self) -> None:
        self._following.enable(self.recording.watching and self._suspended == 0 and not self._quiet
                               and not self._stopped and not self._calls.create_graph)

    def batch(self, tensors: list[tuple[str, Tensor, str]]) -> None:
        if self._on and self.recording.ready():
            self._suspended_sources(tensors)

    def _suspended_sources(self, tensors: list[tuple[str, Tensor, str]]) -> None:
        self.suspend()
        try:
            for name, tensor, role in tensors:
                if self.recording.values.known(tensor) is None and all_plain((type(tensor),)):
                    self.recording.values.of(tensor, name, role)
        finally:
            self.resume()

    def backward(self, loss: Tensor, create_graph: bool) -> None:
        recording = self.recording
        if not self._on or not recording.ready():
            return
        self._calls.trained = True
        number = recording.values.known(loss)
        if number is not None:
            self._loss = number
            recording.graph.set_role(number, "loss")
            self._calls.seed(number)
            self._follow()

    def backward_began(self, create_graph: bool) -> None:
        self._calls.in_backward = True
        self._calls.create_graph = create_graph
        self._following.in_backward(True)
        self._follow()

    def backward_ended(self) -> None:
        if self.compiled is not None:
            self.compiled.backward_ended()
        self._calls.in_backward = self._calls.create_graph = False
        self._following.in_backward(False)
        self._follow()

    def otherwise(self, known: Parameter) -> Optional[int]:
        return self._loss

    def frames_of(self, known: Parameter) -> tuple[int, ...]:
        return self._calls.origins.frames_of(known)

    def enter_scope(self, name: str) -> Callable[[], None]:
        if not self.recording.ready():
            return lambda: None
        return self._scopes.enter(name)

    def watch(self, tensor: Tensor, name: str) -> None:
        self.suspend()
        try:
            super().watch(tensor, name)
        finally:
            self.resume()

    # --- modules ---

    def _entered(self, module: Any, args: Any, outermost: bool) -> None:
        if isinstance(module, LAYERS) and self._on and not self._scopes.muted and _task() == -1 and self.recording.ready():
            self._recurrent.called(module, args)
        if not outermost:
            return
        if self._scopes.muted:
            self._evaluating = True
            self._switch()
            return
        if self._on and self.recording.ready() and _task() == -1:
            if torch.is_grad_enabled():
                self.recording.modes.called(module, _frame(1))
            path = self.recording.names.module(module)
            self._suspended_sources(named_inputs(module, path, args, {}))

    def _left(self, module: Any, args: Any, result: Any, outermost: bool) -> None:
        if isinstance(module, LAYERS) and self._on and not self._scopes.muted and _task() == -1 and self.recording.ready():
            self._recurrent.left(module, result)
        if outermost and self._evaluating:
            self._evaluating = False
            self._quiet = True
            self._switch()
            self._follow()

    # --- an operator ---

    def _dispatch(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        recording = self.recording
        if self._suspended or self._stopped:
            return func(*args, **kwargs)
        if self._quiet:
            if torch.is_grad_enabled():
                self._quiet = False
                self._follow()
            elif not self._writes_parameter(func, args):
                return func(*args, **kwargs)
        if types and not all_plain(types):
            return func(*args, **kwargs) if any_fake(types) else NotImplemented
        operator = self._operators.get(id(func))
        if operator is None:
            operator = self._operators[id(func)] = Operator(func)
            if operator.fold and not operator.fresh:
                self._views.append(func)
        if operator.fold:
            out = func(*args, **kwargs)
            if recording.watching:
                self._calls.new_view(args, _frame(2))
                if operator.fresh:
                    recording.values.fresh(out, recording.frames.at(_frame(2)))
            return out
        if not (recording.watching or recording.ready()):
            return func(*args, **kwargs)
        if operator.kind == "copy_" and self._calls.delivers(args, _frame(2)):
            return func(*args, **kwargs)
        return self._run(operator, func, args, kwargs)

    def _writes_parameter(self, func: Any, args: Any) -> bool:
        """After an evaluation, too: what was swapped in for it is put back, and the next step reads that."""
        if not func._schema.is_mutable or not args:
            return False
        written = args[0][0] if isinstance(args[0], (list, tuple)) and args[0] else args[0]
        return isinstance(written, Tensor) and self.recording.names.of_storage(storage_key(dense(local(written)))) is not None

    def _run(self, operator: Operator, func: Any, args: Any, kwargs: Any) -> Any:
        try:
            call = self._calls.before(operator, args, kwargs, _frame(3))
        except Exception as error:  # noqa: BLE001: ends the recording, not the training
            self.recording.failed(error)
            return func(*args, **kwargs)
        out = func(*args, **kwargs)
        try:
            self._calls.after(call, out)
        except Exception as error:  # noqa: BLE001
            self.recording.failed(error)
        return out


def _is_evaluation(module: Any) -> bool:
    return not torch.is_grad_enabled() and not module.training

"""Where in the tree of modules the program is: "Net/layers/0/attn", with "#2" at the second call in an iteration.

From global hooks of modules. One stack; modules called in other threads while it is in use (DataParallel) are
not followed. Needs torch.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any, Callable, Optional

import torch
from torch.nn.modules import module as module_hooks

from msdbg._graph import Scope
from msdbg._recording import Recording

_task = torch._C._current_graph_task_id


class Scopes:
    """Asks `muted` whether the call of an outermost module is left out; tells `entered` and `left` of every call."""

    def __init__(self, recording: Recording, muted: Callable[[Any], bool], entered: Callable[..., None],
                 left: Callable[..., None]) -> None:
        self._recording = recording
        self._muted = muted
        self._entered = entered
        self._left = left
        self._handles: list[Any] = []
        self._thread = threading.get_ident()
        self._calls: dict[str, int] = {}
        self._stack: list[tuple[Any, Any]] = []  # module, scope before it
        self.muted = False  # the outermost one's work is not recorded
        self.follower: Any = None  # of the extension: knows the scope, too
        self._current: Optional[Scope] = None

    def start(self) -> None:
        warnings.filterwarnings("ignore", message=".*when there are global hooks on modules.*")
        self._handles = [
            module_hooks.register_module_forward_pre_hook(self._before),
            module_hooks.register_module_forward_hook(self._after, always_call=True)]

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._stack.clear()
        self.current = None

    def new_iteration(self) -> None:
        self._calls.clear()

    @property
    def current(self) -> Optional[Scope]:
        """None: in the script itself."""
        return self._current

    @current.setter
    def current(self, scope: Optional[Scope]) -> None:
        self._current = scope
        if self.follower is not None:
            self.follower.scope = scope

    def outer(self) -> Optional[Scope]:
        """That in which the innermost module was called."""
        return self._stack[-1][1] if self._stack else None

    @property
    def active(self) -> bool:
        return bool(self._handles)

    def enter(self, path: str) -> Callable[[], None]:
        """A scope of the user's own."""
        before = self.current
        below = before.path if before is not None else "main"
        self.current = self._next(f"{below}/{path}")

        def leave() -> None:
            self.current = before

        return leave

    def _next(self, path: str) -> Scope:
        count = self._calls[path] = self._calls.get(path, 0) + 1
        return self._recording.graph.scope(path if count == 1 else f"{path}#{count}")

    def _before(self, module: Any, args: Any) -> None:
        if torch.compiler.is_compiling():  # a hook that does nothing leaves no trace in what is compiled
            return
        if threading.get_ident() != self._thread and _task() == -1:
            return
        try:
            outermost = not self._stack
            before = self.current
            self._stack.append((module, before))
            if outermost:
                self.muted = self._muted(module)
                if torch.is_grad_enabled() and _task() == -1:
                    self._recording.by_hand.forward_begins()
            if not self.muted and self._recording.ready():
                path, wraps = self._recording.names.called(module)
                if not wraps:
                    self.current = self._next(path)
            self._entered(module, args, outermost)
        except Exception as error:  # noqa: BLE001: ends the recording, not the training
            self._recording.failed(error)

    def _after(self, module: Any, args: Any, result: Any) -> None:
        if torch.compiler.is_compiling():
            return
        if threading.get_ident() != self._thread and _task() == -1:
            return
        try:
            while self._stack:
                at, before = self._stack.pop()
                if at is module:
                    break
            else:
                return
            self._left(module, args, result, not self._stack)
            self.current = before
        except Exception as error:  # noqa: BLE001
            self._recording.failed(error)

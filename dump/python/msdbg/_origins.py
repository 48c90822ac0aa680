"""From an operator of the backward pass to what it is the gradient of: the forward operator whose autograd node runs
now, by its sequence number. Needs torch.
"""

from __future__ import annotations

from typing import Any, Optional

import torch

from msdbg._graph import Entry, Scope
from msdbg._names import Parameter
from msdbg._recording import Recording

_ACCUMULATE = 2**64 - 1  # sequence number of all AccumulateGrad nodes


class Origin:
    """What a backward operator comes from where that is no node: a view, a parameter."""

    __slots__ = ("path", "node", "frames", "shown", "grad_scope")

    def __init__(self, path: str, node: int, frames: tuple[int, ...], shown: int = -1) -> None:
        self.path = path  # "Net/fc1"
        self.node = node  # -1: none
        self.frames = frames
        self.shown = shown  # the tensor that a view shows
        self.grad_scope: Optional[Scope] = None


class Origins:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._owners: dict[int, Any] = {}  # sequence number -> Entry or Origin
        self._views: dict[tuple[Any, ...], Origin] = {}
        self._parameters: dict[str, Origin] = {}
        self._users: dict[int, Entry] = {}  # parameter's source -> who read it first
        self._unknown = Origin("main", -1, ())

    def new_iteration(self) -> None:
        self._owners.clear()

    def own(self, number: int, owner: Any) -> None:
        self._owners[number] = owner

    def view(self, scope: Scope, node: int, shown: int, frame: Any) -> Origin:
        """The origin of what the backward of a view computes: `node` made what it shows."""
        key = (scope, shown, id(frame.f_code), frame.f_lasti)
        known = self._views.get(key)
        if known is None:
            known = self._views[key] = Origin(scope.path, node, self._recording.frames.at(frame), shown)
        return known

    def now(self) -> tuple[Scope, Any]:
        """Of the autograd node that runs in this thread: where its operators are named, what it comes from."""
        node = torch._C._current_autograd_node()
        if node is None:
            owner: Any = self._unknown
        else:
            number = node._sequence_nr()
            if number == _ACCUMULATE:
                owner = self._parameter(getattr(node, "variable", None))
            else:
                owner = self._owners.get(number, self._unknown)
        scope = owner.grad_scope
        if scope is None or owner is self._unknown:
            name = "engine" if node is None else node.name().rsplit("::", 1)[-1]
            path = owner.scope.path if type(owner) is Entry else owner.path
            scope = self._recording.graph.scope(f"grad/{path}/{name}")
            owner.grad_scope = scope
        return scope, owner

    def owner(self) -> Any:
        """What the autograd node that runs in this thread comes from."""
        return self.now()[1]

    def used(self, source: int, by: Entry) -> None:
        """The first one that reads a parameter shows where it is used."""
        self._users.setdefault(source, by)

    def node_of(self, origin: Any) -> int:
        """Of a view of a parameter: who read it first."""
        if origin.node < 0 and type(origin) is Origin:
            user = self._users.get(origin.shown)
            return -1 if user is None else user.node
        return origin.node

    def frames_of(self, known: Parameter) -> tuple[int, ...]:
        user = self._users.get(known.source)
        return () if user is None else user.frames

    def _parameter(self, variable: Any) -> Any:
        known = None if variable is None else self._recording.names.parameter(variable)
        if known is None:
            return self._unknown
        origin = self._parameters.get(known.name)
        if origin is None:
            origin = self._parameters[known.name] = Origin(known.scope, -1, self.frames_of(known))
        return origin

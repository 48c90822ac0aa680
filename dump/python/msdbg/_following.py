"""The extension's Follower: runs what comes as it came in the iteration before, without Python code. Needs torch."""

from __future__ import annotations

import sys
from typing import Any, Callable, Optional

import torch

from msdbg._call import Call
from msdbg._calls import Calls
from msdbg._graph import Entry, Scope
from msdbg._recording import Recording
from msdbg._scopes import Scopes
from msdbg._tensors import PLAIN, is_whole


class Following:
    """Keeps the Follower and what Python knows in step. Without an extension that has one it does nothing."""

    def __init__(self, recording: Recording, calls: Calls, scopes: Scopes, slow: Callable[..., Any]) -> None:
        self._recording = recording
        self._calls = calls
        self._scopes = scopes
        self._slow = slow
        self._module: Any = None
        self._first: Any = None
        self.follower: Any = None

    def make(self) -> Optional[Any]:
        """Once the recording is open. What the mode calls, or None."""
        module = self._recording.module
        if not hasattr(module, "Follower"):
            return None
        values, calls = self._recording.values, self._calls
        nothing = Scope("")
        self._module = module
        self._first = module.Step(None, None, nothing, None, -1, 0, 0, False, True, (), (), (), ())
        self.follower = module.Follower(
            recording=self._recording.recorder, plain=PLAIN, ids=values.ids, held=values.held, seen=values.seen,
            counts=self._recording.graph.counts, number=torch.autograd._get_sequence_nr,
            task=torch._C._current_graph_task_id, slow=self._slow, late=self._late, view=self._view, own=calls.own,
            see=values.see, outside=calls.outside, doubt=calls.doubt, origin=calls.origins.owner, first=self._first)
        self._scopes.follower = self.follower
        self.follower.scope = self._scopes.current
        calls.arrived = self._arrived
        return self.follower

    def new_iteration(self) -> None:
        if self.follower is not None:
            self.follower.restart(self._first)
            self.follower.enabled = False  # until it has begun

    def enable(self, wanted: bool) -> None:
        if self.follower is not None:
            self.follower.enabled = wanted
            self.follower.seen_number = self._calls.seen_number

    def in_backward(self, wanted: bool) -> None:
        if self.follower is not None:
            self.follower.in_backward = wanted
            self.follower.seen_number = self._calls.seen_number

    def fold(self, func: Any) -> None:
        if self.follower is not None:
            self.follower.fold(func)

    def _arrived(self, call: Call, entry: Entry) -> None:
        if entry.step is None:
            entry.step = self._step(call, entry)
        self.follower.arrived(entry.step)
        self.follower.seen_number = self._calls.seen_number

    def _step(self, call: Call, entry: Entry) -> Any:
        operator = call.operator
        simple = not (entry.quiet or operator.waits or operator.scratch or self._calls.create_graph or self._calls.is_again(call)
                      or self._calls.seeded(call)
                      or any(position < 0 for position, _, _ in call.reads + call.writes)
                      or not all(is_whole(tensor) for tensor in call.targets))
        forward = call.origin is None
        where = call.scope if forward else call.origin
        return self._module.Step(entry, operator.func, where, call.place, entry.node, entry.slot, entry.number,
                                 simple, forward, tuple(call.reads), tuple(call.writes), entry.outputs,
                                 tuple(entry.dtypes))

    def _view(self, args: Any) -> None:
        self._calls.view(args, sys._getframe(2))
        self.follower.seen_number = self._calls.seen_number

    def _late(self, entry: Optional[Entry], args: Any, kwargs: Any, out: Any, error: Optional[BaseException]) -> None:
        """What ran was not what was expected, or could not be told."""
        recording = self._recording
        if error is not None:
            recording.failed(error)
            return
        assert entry is not None
        try:
            call = self._calls.before(entry.operator, args, kwargs or {}, sys._getframe(2))
            self._calls.after(call, out)
        except Exception as failure:  # noqa: BLE001: ends the recording, not the training
            recording.failed(failure)

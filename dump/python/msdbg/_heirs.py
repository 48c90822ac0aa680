"""Optimizers that are made while others have the same parameters already: who goes on for whom. One that is made anew for
every step forgets momentum and its like each time, which is told by a node "update/main/new_optimizer-op1". Needs torch.
"""

from __future__ import annotations

import weakref
from typing import Any, Callable, Optional

from torch import Tensor

from msdbg._marks import tell

_ENOUGH = 5  # optimizers in a row that made one step each


class _Turn:
    """The optimizer that stepped last on a parameter."""

    __slots__ = ("parameter", "optimizer", "number", "steps", "row")

    def __init__(self, parameter: Any, optimizer: Any, number: int, row: int) -> None:
        self.parameter, self.optimizer = weakref.ref(parameter), weakref.ref(optimizer)
        self.number = number
        self.steps = 0
        self.row = row  # how many before it made one step each


class Heirs:
    def __init__(self, recording: Any) -> None:
        self._recording = recording
        self._turns: dict[int, _Turn] = {}  # by id of an optimizer's first parameter
        self._stepped: Any = weakref.WeakSet()
        self._told = False

    def number_from(self, optimizer: Any) -> Optional[int]:
        """The number of the one that is gone and had the same parameters."""
        last = self._last(optimizer)
        return last.number if last is not None and last.optimizer() is None else None

    def stepped(self, optimizer: Any, number: int, frames_of: Callable[[int], tuple[int, ...]]) -> None:
        """It made a step; `frames_of`: where the one of a number was made."""
        parameter = _first(optimizer)
        if parameter is None:
            return
        last = self._last(optimizer)
        if last is None or last.optimizer() is not optimizer:
            row = last.row + 1 if last is not None and last.steps == 1 and optimizer not in self._stepped else 0
            self._stepped.add(optimizer)
            last = self._turns[id(parameter)] = _Turn(parameter, optimizer, number, row)
        last.steps += 1
        if last.row >= _ENOUGH and not self._told and _has_state(optimizer, parameter):
            self._told = True
            recording = self._recording
            tell(recording, recording.graph.scope("update/main"), "new_optimizer", 1,
                 {"optimizer": type(optimizer).__name__, "steps": last.row + 1}, frames_of(number), phase="update")

    def _last(self, optimizer: Any) -> Optional[_Turn]:
        parameter = _first(optimizer)
        last = self._turns.get(id(parameter))
        return last if last is not None and last.parameter() is parameter else None


def _first(optimizer: Any) -> Any:
    return next((group["params"][0] for group in optimizer.param_groups if group["params"]), None)


def _has_state(optimizer: Any, parameter: Any) -> bool:
    return any(isinstance(state, Tensor) and state.dim() > 0 for state in optimizer.state.get(parameter, {}).values())

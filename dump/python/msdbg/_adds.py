"""Whether what backward() computes is added to what an earlier call of the iteration left, as accumulation wants it, or is
of a loss of its own: a step was made in between, or the gradients were set to zero (SAM, a GAN whose losses go through
one function). Needs torch.
"""

from __future__ import annotations

import weakref
from itertools import islice
from typing import Any

from msdbg._kept import mark

_FEW = 4   # parameters of each optimizer tell it of all
_LOOK = 64  # among so many
_MOST = 15  # losses of one line in one iteration


class Adds:
    def __init__(self, recording: Any) -> None:
        self._recording = recording
        self._left: list[tuple[Any, Any]] = []  # parameter, its gradient's place and version
        self._steps = 0  # of optimizers, until then
        self._turns: dict[Any, int] = {}  # by site: losses of this iteration
        self._iteration = -1
        self._another = False

    def backward_begins(self) -> None:
        self._another = self._steps != self._recording.cycle.steps or any(
            parameter() is not None and mark(parameter()) != left for parameter, left in self._left)

    def backward_ended(self) -> None:
        self._steps = self._recording.cycle.steps
        self._left = [(weakref.ref(p), mark(p)) for optimizer in self._recording.optimizers.alive()
                      for p in _having_gradients(optimizer)]

    def turn(self, site: Any) -> int:
        """Which of the losses of this line in this iteration it is, from 0."""
        if self._iteration != self._recording.iteration:
            self._iteration = self._recording.iteration
            self._turns.clear()
        elif self._another and site in self._turns:
            self._turns[site] = min(self._turns[site] + 1, _MOST)
        return self._turns.setdefault(site, 0)


def _having_gradients(optimizer: Any) -> list[Any]:
    some = islice((p for group in optimizer.param_groups for p in group["params"]), _LOOK)
    return list(islice((p for p in some if p.grad is not None), _FEW))

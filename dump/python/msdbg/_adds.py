"""Whether what backward() computes is added to what an earlier call of the iteration left, as accumulation wants it, or is
of a loss of its own: a step was made in between, or the gradients were set to zero (SAM, a GAN whose losses go through
one function). And whether all but the last of several passes were for nothing, zero_grad() in each micro-batch, or the only
one was, zero_grad() between backward() and step(): told by a node "main/dropped_gradients-op1". Needs torch.
"""

from __future__ import annotations

import weakref
from itertools import islice
from typing import Any

from msdbg._kept import mark
from msdbg._marks import tell
from msdbg._tensors import dense, local, version_of

_FEW = 4   # parameters of each optimizer tell it of all
_LOOK = 64  # among so many
_MOST = 15  # losses of one line in one iteration
_ENOUGH = 3  # iterations in a row whose passes were dropped


class Adds:
    def __init__(self, recording: Any) -> None:
        self._recording = recording
        self._left: list[tuple[Any, Any, int]] = []  # parameter, its gradient's place and version, its own version
        self._steps = 0  # of optimizers, until then
        self._turns: dict[Any, int] = {}  # by site: losses of this iteration
        self._iteration = -1
        self._another = False
        self._dropped = 0  # passes of this iteration whose gradients were set to zero before anything was made of them
        self._site: Any = None  # of all passes of this iteration; None: of several lines
        self._row = 0
        self._emptied = 0  # steps in a row before which the gradients of the only pass were set to none
        recording.adds = self

    def backward_begins(self) -> None:
        self._another = self._steps != self._recording.cycle.steps or not self._are_there()

    def _are_there(self) -> bool:
        """The gradients are those that the last pass left."""
        return all(parameter() is None or mark(parameter()) == left for parameter, left, _ in self._left)

    def backward_ended(self) -> None:
        self._steps = self._recording.cycle.steps
        self._left = [(weakref.ref(p), mark(p), _version(p)) for optimizer in self._recording.optimizers.alive()
                      for p in _having_gradients(optimizer)]

    def _was_for_nothing(self) -> bool:
        """The last pass: its gradients are gone, and neither a step nor the program itself changed parameters since."""
        return self._another and self._steps == self._recording.cycle.steps and bool(self._left) and all(
            parameter() is not None and _version(parameter()) == version for parameter, _, version in self._left)

    def steps_now(self) -> None:
        """An optimizer is about to make a step of what the last pass left, or of nothing."""
        emptied = bool(self._left) and self._steps == self._recording.cycle.steps and all(
            parameter() is not None and parameter().grad is None for parameter, _, _ in self._left)
        self._emptied = self._emptied + 1 if emptied else 0
        if self._emptied == _ENOUGH:
            self._tell(1)

    def _tell(self, passes: int) -> None:
        recording = self._recording
        tell(recording, recording.graph.scope("main"), "dropped_gradients", 1, {"passes": passes}, recording.frames.here(),
             phase="update")

    def stepped(self) -> None:
        """An optimizer made a step of what the last pass left, or of what the program made of it (PCGrad)."""
        last = self._dropped > 0 and self._site is not None and self._are_there()
        self._row = self._row + 1 if last else 0
        if self._row == _ENOUGH:
            self._tell(self._dropped + 1)

    def turn(self, site: Any) -> int:
        """Which of the losses of this line in this iteration it is, from 0."""
        if self._iteration != self._recording.iteration:
            self._iteration = self._recording.iteration
            self._turns.clear()
            self._dropped, self._site = 0, site
        elif self._another and site in self._turns:
            self._turns[site] = min(self._turns[site] + 1, _MOST)
            self._dropped += self._was_for_nothing()
        if site != self._site:
            self._site = None
        return self._turns.setdefault(site, 0)


def _having_gradients(optimizer: Any) -> list[Any]:
    some = islice((p for group in optimizer.param_groups for p in group["params"]), _LOOK)
    return list(islice((p for p in some if p.grad is not None), _FEW))


def _version(parameter: Any) -> int:
    return version_of(dense(local(parameter)))

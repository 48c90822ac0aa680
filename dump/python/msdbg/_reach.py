"""How far back autograd's graph goes: what is carried from one iteration to the next and never detached keeps the graphs
of all iterations before, and a backward pass goes through them all. Looked at in one iteration of a recording, told by a node
"main/growing_graph-op1" in it. Needs torch.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import torch
from torch import Tensor

from msdbg._marks import tell

_LOOK = 12  # iterations, counted from the first one that is recorded
_MOST = 200_000  # autograd nodes: of larger graphs nobody knows

_number = torch.autograd._get_sequence_nr


class Reach:
    def __init__(self, recording: Any) -> None:
        self._recording = recording
        self._ends: list[int] = []  # of each iteration: the number of the autograd node that came next
        self._told: set[str] = set()

    def iteration_ended(self) -> None:
        if len(self._ends) <= _LOOK:
            self._ends.append(_number())

    def loss(self, loss: Tensor) -> None:
        """backward() is called on it."""
        if len(self._ends) == _LOOK:
            self._look(loss.grad_fn, "backward", self._recording.frames.here)

    def read(self, tensor: Any, frame: Any) -> None:
        """An operator reads what was not made in this iteration."""
        if len(self._ends) == _LOOK and isinstance(tensor, Tensor):
            self._look(tensor.grad_fn, "kept", lambda: self._recording.frames.at(frame))

    def _look(self, node: Any, kind: str, frames: Any) -> None:
        if node is None or kind in self._told:
            return
        if kind == "kept" and node._sequence_nr() >= self._ends[-1]:  # it was made in this iteration
            return
        if self._iterations(node) < _LOOK - 1:  # the first may not be whole
            return
        self._told.add(kind)
        recording = self._recording
        tell(recording, recording.graph.scope("main"), "growing_graph", 1 + (kind == "kept"),
             {"iterations": _LOOK, "backward": kind == "backward"}, frames())

    def _iterations(self, start: Any) -> int:
        """Of how many iterations before this one it leads to autograd nodes; 0 where there are too many to look at."""
        open_, seen, iterations = [start], {start}, set()
        while open_ and len(seen) < _MOST:
            node = open_.pop()
            iterations.add(bisect_right(self._ends, node._sequence_nr()))  # AccumulateGrad has the largest number of all
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    open_.append(following)
        return len(iterations - {_LOOK}) if not open_ else 0

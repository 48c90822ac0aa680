"""Modules that are trained as they are evaluated: net.eval() was called, and net.train() not again. Needs torch.

A module that computed in training mode before, and in a whole iteration only in evaluation mode, with gradients, is a
node of its own there: "Net/eval-op1", with the line of the first such call. Where no dropout and no batch norm of it is
switched by that, it makes no difference and nothing is said.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from msdbg._frames import Place, places_here
from msdbg._marks import tell


class Modes:
    def __init__(self, recording: Any) -> None:
        self._recording = recording
        self._trained: set[str] = set()  # paths of modules that computed in training mode in an iteration before
        self._training: set[str] = set()  # in this one
        self._evaluating: dict[str, tuple[Any, tuple[Place, ...]]] = {}  # in evaluation mode in this one: where first

    def called(self, module: Any, frame: Any) -> None:
        """An outermost module begins to compute, with gradients."""
        path = self._recording.names.module(module)
        if module.training:
            self._training.add(path)
        elif path in self._trained and path not in self._evaluating:
            self._evaluating[path] = (_switched(module), places_here(frame))

    def ending(self) -> None:
        """The iteration is about to be handed over: tells what was trained in evaluation mode."""
        for path, (switched, places) in self._evaluating.items():
            if path not in self._training and switched:
                self._tell(path, switched, places)
        self._trained |= self._training
        self._training.clear()
        self._evaluating.clear()

    def _tell(self, path: str, switched: str, places: tuple[Place, ...]) -> None:
        recording = self._recording
        tell(recording, recording.graph.scope(path), "eval", 1, {"switched_off": switched}, recording.frames.of(places))


def _switched(module: nn.Module) -> str:
    """What computes something else than in training: "BatchNorm2d, Dropout"."""
    kinds = {type(part).__name__ for part in module.modules() if not part.training and _differs(part)}
    return ", ".join(sorted(kinds))


def _differs(part: nn.Module) -> bool:
    if isinstance(part, nn.modules.dropout._DropoutNd):
        return part.p > 0
    if isinstance(part, nn.modules.batchnorm._BatchNorm):
        return part.track_running_stats
    rate = getattr(part, "dropout", 0)  # attention, LSTM, and what calls F.dropout itself
    return isinstance(rate, float) and rate > 0

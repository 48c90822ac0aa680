"""Whether the gradients of a step are still there when the next one's are computed: nobody sets them to zero. Seen by
where a gradient lies and by how often it was written, so that it costs nothing where all is well. Needs torch.
"""

from __future__ import annotations

import weakref
from typing import Any

from msdbg._names import parameters_of
from msdbg._tensors import dense, local, version_of

_FEW = 4  # parameters tell it of all
_ENOUGH = 3  # iterations


class KeptGradients:
    """Of programs with one optimizer: of several, one may leave gradients to another one's zero_grad(). What is zeroed
    between two backward passes of an iteration, as after an attack on the input, was zeroed in time."""

    def __init__(self, recording: Any) -> None:
        self._recording = recording
        self._of: list[tuple[Any, Any]] = []  # parameter, where its gradient was and how often written
        self._by: Any = None  # weak reference of the optimizer that has them
        self._kept = False
        self._told = 0

    def stepped(self, optimizer: Any, alone: bool) -> None:
        """A step was made, of the gradients that are there."""
        if self._kept and self._by is not None and self._by() is optimizer:
            self._recording.scalars["gradients_kept"] = 1.0
            self._told += 1
        self._kept = False
        self._of, self._by = [], weakref.ref(optimizer)
        if alone and self._told < _ENOUGH:
            having = [p for p in parameters_of(optimizer) if p.requires_grad and p.grad is not None]
            self._of = [(p, None) for p in having[:_FEW]]
            self._look()

    def backward_began(self) -> None:
        if self._of:
            self._kept = all(p.requires_grad and mark(p) == was for p, was in self._of) and (self._kept or self._is_something())
            if not self._kept:
                self._of = []

    def backward_ended(self) -> None:
        if self._of:
            self._look()

    def _look(self) -> None:
        self._of = [(p, mark(p)) for p, _ in self._of]

    def _is_something(self) -> bool:
        """Not zeros, which `p.grad.data.zero_()` leaves without a count."""
        level = self._recording.level
        level.suspend()
        try:
            return any(bool(dense(local(p.grad)).count_nonzero()) for p, _ in self._of)
        finally:
            level.resume()


def mark(parameter: Any) -> Any:
    """Where its gradient lies, and how often that was written. None: there is none."""
    if parameter.grad is None:
        return None
    gradient = dense(local(parameter.grad))
    return gradient.data_ptr(), version_of(gradient)

"""Views that take pieces of one axis for another one: view(B, H, T, d) of [B, T, H * d], where a transpose was meant. Views
are no operators of the recording; such a one is a node of its own, "Net/attn/reshape-op1", once. Needs torch.
"""

from __future__ import annotations

from itertools import accumulate
from operator import mul
from typing import Any, Sequence

import torch

from msdbg._graph import Scope
from msdbg._marks import tell

_Axis = tuple[int, int]  # as it lies in memory, in elements: from, to


class Reshapes:
    def __init__(self, recording: Any) -> None:
        self._recording = recording
        self._met: set[Any] = set()

    def met(self, tensor: torch.Tensor, sizes: list[Any], scope: Scope, frame: Any) -> None:
        """A tensor is viewed with these sizes, of which one may be -1."""
        shape = tensor.shape
        key = (scope.path, shape, tuple(sizes))
        if key in self._met:
            return
        self._met.add(key)
        to = _resolved(shape.numel(), sizes)
        if to is not None and is_torn(shape, to):
            self._tell(tensor, to, scope, frame)

    def _tell(self, tensor: torch.Tensor, to: list[int], scope: Scope, frame: Any) -> None:
        graph, recording = self._recording.graph, self._recording
        shown = recording.values.known(tensor)
        slot = graph.slot(scope, "reshape")
        graph.counts[slot] += 1
        tell(recording, scope, "reshape", graph.counts[slot], {"from": list(tensor.shape), "to": to},
             recording.frames.at(frame), () if shown is None else (shown,))


def _resolved(elements: int, sizes: Sequence[Any]) -> Any:
    """None: it is another thing than sizes of the same elements (expand(), permute())."""
    if elements == 0 or not all(type(size) is int for size in sizes):
        return None
    product = 1
    for size in sizes:
        product *= size
    if product < 0 and elements % -product == 0:
        sizes, product = [elements // -product if size == -1 else size for size in sizes], elements
    return list(sizes) if product == elements else None


def is_torn(shape: Sequence[int], to: Sequence[int]) -> bool:
    """Whether an axis of `to` is made of two of `shape` of which one is cut through."""
    bounds = {1, *accumulate(reversed(shape), mul)}
    return any((low not in bounds or high not in bounds) and any(low < bound < high for bound in bounds)
               for low, high in _axes(to))


def _axes(sizes: Sequence[int]) -> list[_Axis]:
    highs = list(accumulate(reversed(sizes), mul))
    return list(zip([1, *highs], highs))

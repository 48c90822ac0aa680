"""A storage of which only parts are known: pieces of a batch that were read, or parts that operators wrote. Needs
torch."""

from __future__ import annotations

from typing import Any, Optional

from torch import Tensor

Region = tuple[int, int, tuple[int, ...], tuple[int, ...]]  # offset, elements; of what is not dense: sizes, strides


def region_of(tensor: Tensor) -> Region:
    if tensor.is_contiguous():
        return tensor.storage_offset(), tensor.numel(), (), ()
    return tensor.storage_offset(), tensor.numel(), tuple(tensor.size()), tuple(tensor.stride())


class Parts:
    __slots__ = ("ids", "before", "written", "missing")

    def __init__(self, before: Optional[int], missing: int) -> None:
        self.ids: dict[Region, int] = {}  # tensors of the graph, in the order in which they came
        self.before = before  # what all of the storage showed before a part was written
        self.written = False  # else these are sources
        self.missing = missing  # bytes that nobody wrote yet

    def write(self, tensor: Tensor, number: int) -> None:
        region = region_of(tensor)
        for other in [other for other in self.ids if other != region and not _apart(region, other)]:
            del self.ids[other]  # written over, in part
        self.ids.pop(region, None)
        self.ids[region] = number
        self.written = True
        self.missing -= tensor.numel() * tensor.element_size()

    def all(self) -> tuple[int, ...]:
        """What the storage is made of."""
        found = dict.fromkeys(self.ids.values())
        return tuple(found) if self.before is None else (self.before, *(n for n in found if n != self.before))

    def last(self) -> Optional[int]:
        return next(reversed(self.ids.values()), None) if self.ids else self.before


def _apart(a: Region, b: Region) -> bool:
    """Whether two regions surely have no element in common."""
    first, second = sorted((_extent(a), _extent(b)))
    if first[1] <= second[0]:
        return True
    if not a[3] or a[2:] != b[2:]:
        return False
    stride = max(a[3])  # rows of one length beside each other, as the chunks of a matrix are
    inner = 1 + sum((size - 1) * step for size, step in zip(a[2], a[3]) if step != stride)
    between = abs(a[0] - b[0]) % stride
    return inner <= between <= stride - inner


def _extent(region: Region) -> tuple[int, int]:
    offset, elements, sizes, strides = region
    if not strides:
        return offset, offset + elements
    return offset, offset + 1 + sum((size - 1) * step for size, step in zip(sizes, strides))

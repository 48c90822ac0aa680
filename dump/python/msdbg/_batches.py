"""Batches: what a DataLoader gives. Its own work is not recorded. Needs torch."""

from __future__ import annotations

from typing import Any, Callable

from torch.utils.data import DataLoader, DistributedSampler, RandomSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from msdbg._level import named_batch
from msdbg._recording import Recording


class Batches:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def start(self) -> None:
        self._recording.patches.wrap(_BaseDataLoaderIter, "__next__", self._wrap_next)
        self._recording.patches.wrap(DataLoader, "__iter__", self._wrap_iter)

    def _wrap_next(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def __next__(loader: Any) -> Any:
            level = self._recording.level
            level.suspend()
            try:
                batch = original(loader)
            finally:
                level.resume()
            self._recording.guard(self._given, batch)
            self._recording.shuffled += _shuffles(loader)
            return batch

        return __next__

    def _wrap_iter(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def __iter__(loader: Any) -> Any:
            level = self._recording.level
            level.suspend()
            try:
                return original(loader)
            finally:
                level.resume()

        return __iter__

    def _given(self, batch: Any) -> None:
        self._recording.level.batch(named_batch(batch, "batch"))


def _shuffles(loader: Any) -> bool:
    """`loader`: what iterates over it. Its batches are made of samples in an order that is drawn."""
    sampler = getattr(loader, "_index_sampler", None)
    sampler = getattr(sampler, "sampler", sampler)
    return isinstance(sampler, RandomSampler) or (isinstance(sampler, DistributedSampler) and bool(sampler.shuffle))

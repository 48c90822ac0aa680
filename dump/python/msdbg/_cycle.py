"""When an iteration ends: with the optimizer step that closes the cycle. Pure bookkeeping.

One optimizer: each of its steps. Several (a GAN): when all of them have stepped that take part. One that does not
step while another one steps many times does not take part, until it steps. One that comes later than the others, made
after they trained or idle until now, may take turns with them or take over (a student after its teacher, L-BFGS after
Adam): what has not stepped beside it by then takes part again when it steps.
"""

from __future__ import annotations

import weakref
from typing import Any

_PATIENCE = 8  # steps of one optimizer in which another one that takes part has to step


class Cycle:
    def __init__(self) -> None:
        self._optimizers: dict[int, Any] = {}  # id -> weak reference
        self._idle: set[int] = set()  # do not take part, and come late when they step
        self._over: set[int] = set()  # another one took over: they take part when they step
        self._late: set[int] = set()  # were made after others trained, and have not stepped yet
        self._stepped: dict[int, int] = {}  # in this iteration: how often
        self._trained = False  # an iteration ended
        self.steps = 0  # ever

    def created(self, optimizer: Any) -> None:
        key = id(optimizer)
        if key not in self._optimizers and self._trained:
            self._late.add(key)
        self._optimizers[key] = weakref.ref(optimizer, lambda _: self._gone(key))
        self._idle.discard(key)

    def any(self) -> bool:
        return bool(self._optimizers)

    def inner(self, optimizer: Any) -> None:
        """It steps as a part of another one's step."""
        self._idle.add(id(optimizer))

    def stepped(self, optimizer: Any) -> bool:
        """True: the iteration ends."""
        self.steps += 1
        key = id(optimizer)
        if key not in self._optimizers:
            self.created(optimizer)
        if key in self._idle or key in self._late:
            self._over.update(other for other in self._optimizers if other not in self._stepped)
        for group in (self._idle, self._late, self._over):
            group.discard(key)
        count = self._stepped[key] = self._stepped.get(key, 0) + 1
        waiting = [other for other in self._optimizers if other not in self._stepped and other not in self._idle | self._over
                   and not self._wraps(other, optimizer)]
        if waiting and count >= _PATIENCE:
            self._idle.update(waiting)
            waiting = []
        return not waiting

    def _wraps(self, other: int, optimizer: Any) -> bool:
        """It steps by this one, whose groups are its own: SAM and its like, which need not be stepped themselves."""
        wrapper = self._optimizers[other]()
        groups = getattr(optimizer, "param_groups", None)
        return groups is not None and getattr(wrapper, "param_groups", None) is groups

    def ended(self) -> None:
        self._trained = True
        self._stepped.clear()

    def _gone(self, key: int) -> None:
        self._optimizers.pop(key, None)
        self._stepped.pop(key, None)
        for group in (self._idle, self._late, self._over):
            group.discard(key)

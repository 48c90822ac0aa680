"""Learning rates of optimizers: a source of the graph for each group of parameters, with the line where its optimizer was
made. Needs torch.
"""

from __future__ import annotations

import array
import functools
import sys
import weakref
from typing import Any

import torch
from torch.optim import lr_scheduler

from msdbg._frames import Place, places_here
from msdbg._marks import tell
from msdbg._recording import Recording


class _Rate:
    __slots__ = ("name", "key", "number", "buffer", "tensor")

    def __init__(self, optimizer: int, group: int) -> None:
        which, of = ("", "") if optimizer == 0 else (f"/optimizer{optimizer}", str(optimizer))
        end = "" if group == 0 else f"/{group}"
        self.name = f"optimizer{of}/learning_rate{end}"
        self.key = f"learning_rate{which}{end}"  # the scalar
        self.number = -1  # the recorder's
        self.buffer = array.array("d", [0.0])  # written without an operator that a dispatch mode could see
        self.tensor = torch.frombuffer(self.buffer, dtype=torch.float64)


class Rates:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._made: dict[int, tuple[Place, ...]] = {}  # by optimizer: where
        self._known: dict[tuple[int, int], _Rate] = {}  # by optimizer and group
        self._scheduled: Any = weakref.WeakKeyDictionary()  # by optimizer: places where its scheduler steps first
        self._told: set[int] = set()

    def made(self, optimizer: Any, number: int, frame: Any) -> None:
        """Its __init__ was called in this frame."""
        while frame is not None and frame.f_code.co_name == "__init__" and _first_argument(frame) is optimizer:
            frame = frame.f_back  # of a class that is derived from it
        self._made.setdefault(number, places_here(frame))

    def forget(self, number: int) -> None:
        """It goes on as another one."""
        self._made.pop(number, None)

    def made_alike(self, a: int, b: int) -> bool:
        """Whether both were made on one line."""
        return self._made.get(a, ())[:1] == self._made.get(b, ())[:1]

    def frames_of(self, number: int) -> tuple[int, ...]:
        """Where it was made."""
        return self._recording.frames.of(self._made.get(number, ()))

    def watch_schedulers(self) -> None:
        """Notes where the program calls scheduler.step()."""
        for kind in [thing for thing in vars(lr_scheduler).values() if isinstance(thing, type)]:
            if issubclass(kind, lr_scheduler.LRScheduler) and "step" in vars(kind):
                self._recording.patches.wrap(kind, "step", self._wrap_step)

    def _wrap_step(self, original: Any) -> Any:
        @functools.wraps(original)
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            optimizer = getattr(scheduler, "optimizer", None)
            first = optimizer is not None and optimizer not in self._scheduled
            if first and sys._getframe(1).f_code.co_name not in ("_initial_step", "__init__"):
                self._scheduled[optimizer] = places_here(sys._getframe(1))
            return original(scheduler, *args, **kwargs)

        return step

    def _tell_scheduler(self, optimizer: Any, number: int) -> None:
        """A node of its own, "update/main/schedule-op1", once: what sets the rate, and on which ranks."""
        self._told.add(number)
        recording = self._recording
        tell(recording, recording.graph.scope("update/main"), "schedule", number + 1, {"optimizer": number},
             recording.frames.of(self._scheduled[optimizer]), phase="update")

    def of(self, optimizer: Any, number: int) -> list[tuple[int, ...]]:
        """Of each parameter, in order: the source of its group's rate, if that has one. They are scalars, too."""
        if optimizer in self._scheduled and number not in self._told:
            self._tell_scheduler(optimizer, number)
        rates: list[tuple[int, ...]] = []
        for index, group in enumerate(optimizer.param_groups):
            rate = group.get("lr")
            source = () if rate is None else (self._rate(number, index, float(rate)),)
            rates += [source] * len(group["params"])
        return rates

    def _rate(self, number: int, group: int, rate: float) -> int:
        recording = self._recording
        known = self._known.get((number, group))
        if known is None:
            recording.level.suspend()
            known = self._known[number, group] = _Rate(number, group)
            recording.level.resume()
        if known.number < 0:
            known.number = recording.graph.source(known.name, known.tensor, "hyperparameter",
                                                  frames=self.frames_of(number))
        recording.scalars[known.key] = known.buffer[0] = rate
        if known.number not in recording.values.seen:  # it may step several times in an iteration
            recording.values.see(known.number, known.tensor)
        return known.number


def _first_argument(frame: Any) -> Any:
    """What a method's frame calls self."""
    names = frame.f_code.co_varnames
    return frame.f_locals.get(names[0]) if frame.f_code.co_argcount > 0 else None

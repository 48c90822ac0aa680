"""When the loss or the gradient's norm is not finite, or spikes, the next iterations are recorded at level ops, so that
what goes wrong there has an operator and a line. All ranks alike: the request lies in the run folder, where `msdbg arm`
puts its own, and names iterations that no rank has begun yet.
"""

from __future__ import annotations

import json
import math
import os
import sys
from bisect import bisect_left, insort
from collections import deque
from typing import Dict, List, Optional

from msdbg import _arm

# As the condition statistic_spike has them (watchpoints/conditions/statistic_spike.cpp).
_WINDOW, _LEAST, _FACTOR = 200, 20, 8.0
_EARLY, _FAR = 5, 100.0  # of fewer numbers one has to be so many times the largest
_FLOORS = {"loss": 0.02, "gradient_norm": 0.25}  # of the median deviation, as a share of the median
_CONVERGED = 0.05  # of the first value: what spikes below is next to nothing
_MARGIN, _LENGTH = 3, 3  # iterations: until the first one at level ops, where others have to hear of it, and how many
_REST = 500  # iterations before the next request


class Series:
    """One number of each iteration, against those before it. `floor`: what the median deviation counts as at least, as
    a share of the median."""

    def __init__(self, floor: float) -> None:
        self._floor = floor
        self._order: deque = deque()
        self._sorted: List[float] = []
        self._first: Optional[float] = None

    def odd(self, value: float) -> bool:
        """Not finite, or above the median and 8 median deviations of the last 200 finite ones. Takes it in, unless it is
        odd among few."""
        if not math.isfinite(value):
            return True
        if self._first is None:
            self._first = value
        if len(self._sorted) < _LEAST:
            spike = len(self._sorted) >= _EARLY and value > _FAR * max(-self._sorted[0], self._sorted[-1]) > 0
        else:
            spike = abs(value) > _CONVERGED * abs(self._first) and self._spikes(value)
        if spike and len(self._sorted) < _LEAST:
            return True
        self._order.append(value)
        insort(self._sorted, value)
        if len(self._order) > _WINDOW:
            del self._sorted[bisect_left(self._sorted, self._order.popleft())]
        return spike

    def _spikes(self, value: float) -> bool:
        numbers = self._sorted
        if value <= numbers[len(numbers) * 9 // 10]:  # most are; what a tenth of them reach is another level
            return False
        median = numbers[len(numbers) // 2]
        deviation = sorted(abs(number - median) for number in numbers)[len(numbers) // 2]
        return value > median + _FACTOR * max(deviation, self._floor * abs(median))


class Spikes:
    """Of one rank. Asks for level ops, at most once in 500 iterations."""

    def __init__(self, run: str, ranks: int) -> None:
        self._file = os.path.join(run, "arm.json")
        self._series: Dict[str, Series] = {name: Series(floor) for name, floor in _FLOORS.items()}
        self._quiet_until = 0
        self._margin = _MARGIN if ranks > 1 else 1

    def ended(self, iteration: int, scalars: Dict[str, float]) -> None:
        """The numbers of an iteration that has ended. OSError: the run folder cannot be written."""
        odd = [name for name, series in self._series.items() if name in scalars and series.odd(scalars[name])]
        if not odd or iteration < self._quiet_until:
            return
        self._quiet_until = iteration + _REST
        first = iteration + self._margin
        if self._ask(first):
            value = scalars[odd[0]]
            what = "is not finite" if not math.isfinite(value) else f"spiked to {value:.4g}"
            print(f"msdbg: the {odd[0].replace('_', ' ')} {what} in iteration {iteration}: iterations "
                  f"{first}-{first + _LENGTH - 1} are recorded at level ops (MSDBG_DEEPEN=0 prevents it)",
                  file=sys.stderr)

    def _ask(self, first: int) -> bool:
        """False: somebody asks for iterations to come already, another rank or a person."""
        ranges = self._asked()
        if any(last >= first - self._margin for _, last, _ in ranges):
            return False
        rows = [{"level": level, "first": begin, "last": end} for begin, end, level in ranges]
        rows.append({"level": "ops", "first": first, "last": first + _LENGTH - 1})
        own = f"{self._file}.{os.getpid()}"
        with open(own, "w", encoding="utf-8") as file:
            json.dump({"schema": "msdbg.arm/1", "ranges": rows}, file)
        os.replace(own, self._file)
        return True

    def _asked(self) -> list:
        try:
            with open(self._file, encoding="utf-8") as file:
                return _arm.parse(file.read())
        except (OSError, ValueError):  # none, or one that nobody can follow
            return []


def wanted() -> Optional[bool]:
    """What the environment says; None: nothing."""
    text = os.environ.get("MSDBG_DEEPEN", "")
    return None if not text else text != "0"

"""Which level an iteration is recorded at, where `msdbg arm` may ask for another one while the run goes on.

RUN/arm.json, put there by rename and replaced by the next request:
    {"schema": "msdbg.arm/1", "ranges": [{"level": "ops", "first": 105, "last": 107}]}    both ends included
The iterations are absolute and lie so far ahead that every rank sees the request before the first of them:
all ranks begin at the same one. A rank that sees it too late leaves out the range that has begun, says so,
and takes those that are still to come. Costs a stat an iteration. One thread.
"""
from __future__ import annotations

import json
import os
import sys
from typing import List, Optional, Tuple

LEVELS = ("train", "modules", "ops")
_SCHEMA = "msdbg.arm/1"
_MOST_BYTES = 1 << 16

Range = Tuple[int, int, str]  # first, last, level


class Armed:
    """The request of one run, looked at again at the beginning of each iteration."""

    def __init__(self, run: str, level: str) -> None:
        """`level` is that of all iterations nobody asked for."""
        self._file = os.path.join(run, "arm.json")
        self._base = level
        self._seen: Optional[Tuple[int, int, int]] = None
        self._ranges: List[Range] = []

    def level(self, iteration: int) -> str:
        """Called once for each iteration, before anything of it is recorded; iterations only grow."""
        try:
            status = os.stat(self._file)
        except OSError:  # not there: nobody asks, or the request was taken away
            self._seen, self._ranges = None, []
            return self._base
        seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        if seen != self._seen:
            self._seen = seen
            self._read(iteration)
        for first, last, level in self._ranges:  # the first that fits decides
            if first <= iteration <= last:
                return level
        return self._base

    def _read(self, iteration: int) -> None:
        known = self._ranges
        try:
            with open(self._file, encoding="utf-8") as file:
                asked = parse(file.read(_MOST_BYTES))
        except (OSError, ValueError) as error:
            self._ranges = []
            return _warn(f"{self._file}: {error}; it is not followed (write it with msdbg arm)")
        late = [r for r in asked if r[0] < iteration <= r[1] and r not in known]
        self._ranges = [r for r in asked if r not in late]
        for first, last, level in late:
            _warn(f"iterations {first}-{last} were asked for at level {level} (msdbg arm) when iteration "
                  f"{iteration} had begun: they are not recorded so; ask again with a larger --margin")
        return None


def parse(text: str) -> List[Range]:
    """The ranges of a request. ValueError says what is wrong with it."""
    request = json.loads(text)
    if not isinstance(request, dict) or request.get("schema") != _SCHEMA:
        raise ValueError(f"not a request of schema {_SCHEMA}")
    ranges = request.get("ranges")
    if not isinstance(ranges, list):
        raise ValueError("there are no ranges")
    return [_range(one) for one in ranges]


def _range(one: object) -> Range:
    if not isinstance(one, dict):
        raise ValueError(f"{one!r} is no range")
    level, first, last = one.get("level"), one.get("first"), one.get("last")
    if level not in LEVELS:
        raise ValueError(f"level {level!r} is none of {', '.join(LEVELS)}")
    if type(first) is not int or type(last) is not int or not 0 <= first <= last:
        raise ValueError(f"{first!r} to {last!r} are no iterations")
    return first, last, level


def _warn(text: str) -> None:
    print(f"msdbg: warning: {text}", file=sys.stderr)

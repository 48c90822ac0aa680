"""Which level an iteration is recorded at, where `msdbg arm` may ask for another one while the run goes on.

RUN/arm.json, put there by rename and replaced by the next request:
    {"schema": "msdbg.arm/1", "level": "ops", "iterations": [[105, 107]]}    both ends included; [] takes it back
The iterations are absolute and lie so far ahead that every rank sees the request before the first of them: all
ranks begin at the same one. A rank that sees it too late leaves out the range that has begun, says so, and takes
those that are still to come. Costs a stat an iteration. One thread.
"""
from __future__ import annotations

import json
import os
import sys
from typing import List, Optional, Tuple

LEVELS = ("train", "modules", "ops")
_SCHEMA = "msdbg.arm/1"
_MOST_BYTES = 1 << 16

Ranges = List[Tuple[int, int]]


class Armed:
    """The request of one run, looked at again at the beginning of each iteration."""

    def __init__(self, run: str, level: str) -> None:
        """`level` is that of all iterations nobody asked for."""
        self._file = os.path.join(run, "arm.json")
        self._base = level
        self._seen: Optional[Tuple[int, int, int]] = None
        self._level = level
        self._ranges: Ranges = []

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
        if not self._ranges:
            return self._base
        return self._level if any(first <= iteration <= last for first, last in self._ranges) else self._base

    def _read(self, iteration: int) -> None:
        begun, level = self._ranges, self._level  # of the request before
        try:
            with open(self._file, encoding="utf-8") as file:
                self._level, self._ranges = parse(file.read(_MOST_BYTES))
        except (OSError, ValueError) as error:
            self._ranges = []
            return _warn(f"{self._file}: {error}; it is not followed (write it with msdbg arm)")
        kept = [(first, last) for first, last in begun if first < iteration] if self._level == level else []
        late = [(first, last) for first, last in self._ranges if first < iteration <= last]
        self._ranges = [range_ for range_ in self._ranges if range_ not in late or range_ in kept]
        for first, last in late:
            if (first, last) not in kept:
                _warn(f"iterations {first}-{last} were asked for (msdbg arm) when iteration {iteration} had begun: "
                      "they are not recorded as asked; ask again with a larger --margin")


def parse(text: str) -> Tuple[str, Ranges]:
    """Level and iterations of a request. ValueError says what is wrong with it."""
    request = json.loads(text)
    if not isinstance(request, dict) or request.get("schema") != _SCHEMA:
        raise ValueError(f"not a request of schema {_SCHEMA}")
    level, ranges = request.get("level"), request.get("iterations")
    if level not in LEVELS:
        raise ValueError(f"level {level!r} is none of {', '.join(LEVELS)}")
    if not isinstance(ranges, list) or not all(_is_range(pair) for pair in ranges):
        raise ValueError("iterations are no list of [first, last]")
    return level, [(first, last) for first, last in ranges]


def _is_range(pair: object) -> bool:
    return (isinstance(pair, list) and len(pair) == 2 and all(type(end) is int for end in pair)
            and 0 <= pair[0] <= pair[1])


def _warn(text: str) -> None:
    print(f"msdbg: warning: {text}", file=sys.stderr)

"""Ends a training after a hit (`--stop-on-hit`), on all ranks after the same iteration.

The rank that is done with its hit writes RUN/stop.json, once:
    {"schema": "msdbg.stop/1", "last": 27, "hit": {…}}    the hit as the recorder gives it
The iteration lies so far ahead that every rank sees the file before it has ended: one that stopped alone would leave
the others in a collective. Costs a stat an iteration where it was asked for. One thread.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Optional

_SCHEMA = "msdbg.stop/1"
_MARGIN = 3  # iterations; where others wait for this rank none is further ahead than one


class Stopping:
    """Of one rank."""

    def __init__(self, run: str, ranks: int) -> None:
        self._file = os.path.join(run, "stop.json")
        self._ranks = ranks
        self._asked = False  # by this rank

    def ended(self, iteration: int, hit: Optional[str]) -> Optional[str]:
        """An iteration has ended. `hit`: this rank's, None where nobody asked to stop, "" where there is none yet. The
        hit of any rank, where the training is to stop now."""
        if hit is None:
            return None
        if hit and self._ranks == 1:
            return hit
        if hit and not self._asked:
            self._asked = True
            self._ask(iteration + _MARGIN, hit)
        return self._due(iteration)

    def _ask(self, last: int, hit: str) -> None:
        """The first rank to do so decides, and nobody reads half of it."""
        own = f"{self._file}.{os.getpid()}"
        try:
            with open(own, "w", encoding="utf-8") as file:
                json.dump({"schema": _SCHEMA, "last": last, "hit": json.loads(hit)}, file)
            try:
                os.link(own, self._file)
            except FileExistsError:
                pass
            os.remove(own)
        except OSError as error:
            _warn(f"the training goes on, --stop-on-hit cannot tell the other ranks: {error}")

    def _due(self, iteration: int) -> Optional[str]:
        try:
            with open(self._file, encoding="utf-8") as file:
                asked = json.load(file)
            return json.dumps(asked["hit"]) if iteration >= int(asked["last"]) else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _warn(f"{self._file} is not followed: {type(error).__name__}: {error}")
            return None


def text_of(hit: str) -> str:
    return str(json.loads(hit)["message"])


def _warn(text: str) -> None:
    print(f"msdbg: warning: {text}", file=sys.stderr)

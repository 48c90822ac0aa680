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
from typing import Any, Optional, Tuple

_SCHEMA = "msdbg.stop/1"
_COLLECTIVES = ("reduce", "gather", "broadcast", "all_to_all", "alltoall", "recv")  # in names of nodes
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
        """The first rank to do so decides when; of several hits what came to a rank from another one is told last.
        Nobody reads half of it."""
        try:
            own = self._written(last, json.loads(hit))
            try:
                os.link(own, self._file)
            except FileExistsError:
                asked = _read(self._file)
                if _place(json.loads(hit)) < _place(asked["hit"]):
                    os.replace(self._written(asked["last"], json.loads(hit)), self._file)
            if os.path.exists(own):
                os.remove(own)
        except (OSError, ValueError, KeyError, TypeError) as error:
            _warn(f"the training goes on, --stop-on-hit cannot tell the other ranks: {error}")

    def _written(self, last: int, hit: Any) -> str:
        own = f"{self._file}.{os.getpid()}"
        with open(own, "w", encoding="utf-8") as file:
            json.dump({"schema": _SCHEMA, "last": last, "hit": hit}, file)
        return own

    def _due(self, iteration: int) -> Optional[str]:
        try:
            asked = _read(self._file)
            return json.dumps(asked["hit"]) if iteration >= int(asked["last"]) else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _warn(f"{self._file} is not followed: {type(error).__name__}: {error}")
            return None


def text_of(hit: str, rank: int) -> str:
    """Of the rank's own hit; "": another one tells it."""
    told = json.loads(hit)
    return str(told["message"]) if told.get("rank", rank) == rank else ""


def _read(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _place(hit: Any) -> Tuple[int, bool, int]:
    node = str(hit.get("node", ""))
    return int(hit["iteration"]), any(word in node for word in _COLLECTIVES), int(hit["rank"])


def _warn(text: str) -> None:
    print(f"msdbg: warning: {text}", file=sys.stderr)

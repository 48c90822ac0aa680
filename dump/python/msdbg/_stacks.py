"""Where this process is, told to `msdbg stacks` and to the watchdog of `msdbg dump`.

RUN/stacks/wanted holds the number of a request; each rank answers in RUN/stacks/rank_N.json, put there by rename:
    {"schema": "msdbg.stacks/1", "request": 7, "rank": 1, "pid": 4711, "iteration": 41237, "threads": [
      {"name": "MainThread", "frames": [{"file": …, "line": 52, "function": "step", "code": "dist.barrier()",
                                         "own": true}, …]}]}    innermost first; own: of the user's code
A thread of its own looks for the request once a second: a stat. One that holds the GIL for ever is not seen.
"""

from __future__ import annotations

import json
import linecache
import os
import sys
import threading
import time
from types import FrameType
from typing import Any, Optional

from msdbg import _frames, _identity

_SECONDS = 1.0
_MOST = 100  # frames of a thread


class Stacks(threading.Thread):
    def __init__(self, recording: Any) -> None:
        super().__init__(name="msdbg stacks", daemon=True)
        self._recording = recording
        self._answered = ""

    def run(self) -> None:
        while not self._recording.over:
            time.sleep(_SECONDS)
            try:
                self._look()
            except (OSError, ValueError):  # the folder is gone, or not ours to write: nobody is told
                continue

    def _look(self) -> None:
        folder = os.path.join(self._recording.settings.run, "stacks")
        try:
            with open(os.path.join(folder, "wanted"), encoding="utf-8") as file:
                wanted = file.read(64).strip()
        except OSError:
            return
        if wanted and wanted != self._answered and self._trains():
            self._answered = wanted
            answer(folder, int(wanted), self._recording.iteration)

    def _trains(self) -> bool:
        """Not a launcher's own process, or a worker that loads data."""
        recording = self._recording
        return recording.recorder is not None or recording.cycle.any() or _identity.distributed() is not None


def answer(folder: str, request: int, iteration: int) -> None:
    rank = _identity.rank_and_ranks()[0]
    text = json.dumps({"schema": "msdbg.stacks/1", "request": request, "rank": rank, "pid": os.getpid(),
                       "iteration": iteration, "threads": _threads()})
    path = os.path.join(folder, f"rank_{rank}.json")
    with open(f"{path}.{os.getpid()}.tmp", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(file.name, path)


def _threads() -> list[dict[str, Any]]:
    """The main thread first."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    here, main = threading.get_ident(), threading.main_thread().ident
    return [{"name": names.get(ident, f"thread {ident}"), "frames": _stack(frame)}
            for ident, frame in sorted(sys._current_frames().items(), key=lambda item: item[0] != main)
            if ident != here]


def _stack(frame: Optional[FrameType]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while frame is not None and len(found) < _MOST:
        file, line = frame.f_code.co_filename, frame.f_lineno or frame.f_code.co_firstlineno
        found.append({"file": file, "line": line,
                      "function": getattr(frame.f_code, "co_qualname", frame.f_code.co_name),
                      "code": linecache.getline(file, line, frame.f_globals).strip()[:200],
                      "own": _frames.is_own(file)})
        frame = frame.f_back
    return found

"""Where Python was when a signal ended the process: SIGABRT of a C++ assertion, SIGSEGV.

Python's faulthandler writes it to RUN/stacks/died_rank_N.txt, in its own words, and gives the signal back to whoever had
it, so that the process ends as it would. A program that has a faulthandler of its own keeps it. The file is empty while
all is well, and removed where the recording ends in good order.
"""

from __future__ import annotations

import faulthandler
import os
from typing import Any, Optional

_file: Optional[Any] = None
_enable = faulthandler.enable


def watch(run: str, rank: int) -> None:
    """From now on, until leave()."""
    global _file
    if _file is not None or faulthandler.is_enabled():
        return
    folder = os.path.join(run, "stacks")
    try:
        os.makedirs(folder, exist_ok=True)
        _file = open(os.path.join(folder, f"died_rank_{rank}.txt"), "w", encoding="utf-8")
    except OSError:  # nobody is told then
        return
    _enable(_file, all_threads=True)
    faulthandler.enable = _enabled


def leave() -> None:
    """The recording is over: no file is left of one that nothing was written to."""
    path = None if _file is None else _file.name
    forget()
    try:
        if path is not None and os.path.getsize(path) == 0:
            os.remove(path)
            os.rmdir(os.path.dirname(path))  # unless there are answers of `msdbg stacks`
    except OSError:
        pass


def forget() -> None:
    """In a child that was forked, whose end is none of the rank's."""
    global _file
    if _file is None:
        return
    if faulthandler.enable is _enabled:
        faulthandler.disable()
        faulthandler.enable = _enable
    _file.close()
    _file = None


def _enabled(*arguments: Any, **keywords: Any) -> None:
    """The program enables it itself: then it is the program's."""
    faulthandler.enable = _enable
    _enable(*arguments, **keywords)

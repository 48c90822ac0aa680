"""A program that is started again (torchrun --max-restarts, a job that is requeued, a loop around it) is recorded as
another attempt of its run, in a folder beside the first: RUN.msdbg, RUN-attempt2.msdbg, ... Each is a run of its own.

All ranks of an attempt find the same folder without talking to each other: the first one in which nothing is recorded
that is over. Its run has an id that follows from the first one's, so that whoever launched the program finds it too
(app/cli/attempts.h has the same rules). Standard library only.
"""
from __future__ import annotations

import fcntl
import json
import os
import re
import time
from dataclasses import dataclass
from typing import Optional

MOST = 99
_PATIENCE = 60.0  # seconds, for whoever makes the folder of another attempt
_GRACE = 5.0  # seconds, for a folder with something in it to become a run
_END = 1 << 14  # bytes at the end of a journal, in which its last line begins


@dataclass
class Attempt:
    run: str  # absolute path of its folder
    number: int  # from 1
    run_id: str  # "": of the first, which whoever starts it knows
    makes: bool = False  # the folder is there and empty: this process puts the run into it


def find(run: str, rank: int, restarts_only: bool) -> Attempt:
    """Where this process, of that rank, is to record. `restarts_only`: a folder of somebody else's may lie there, and
    counts as the first attempt only where a launcher says that the program was started again. Raises RuntimeError
    where an attempt's folder cannot be made or does not get its run."""
    attempt = Attempt(run, 1, "")
    if restarts_only and not started_again():
        return attempt
    first = _id_of(run)
    while first and attempt.number < MOST and _is_over(attempt.run, rank):
        attempt = _join(run, attempt.number + 1, first)
    return attempt


def folder(run: str, number: int) -> str:
    """ "night.msdbg", 2: "night-attempt2.msdbg" """
    root, ending = os.path.splitext(run)
    return run if number == 1 else f"{root}-attempt{number}{ending}"


def id_of_attempt(first: str, number: int) -> str:
    return f"{first[:-4]}{(int(first[-4:], 16) + number - 1) % 65536:04x}"


def _join(run: str, number: int, first: str) -> Attempt:
    """The next one that is this run's: of folders that were there before the first comes none into question."""
    while number <= MOST:
        path, wanted = folder(run, number), id_of_attempt(first, number)
        try:
            os.mkdir(path)
            return Attempt(path, number, wanted, makes=True)
        except FileExistsError:
            if _wait_for(path) == wanted:
                return Attempt(path, number, wanted)
        except OSError as error:
            raise RuntimeError(f"this is attempt {number} of {run}, and its folder cannot be made: {error}") from error
        number += 1
    raise RuntimeError(f"{run} has {MOST} attempts already: this one is not recorded")


def _wait_for(path: str) -> str:
    """The id of a run; another process may be about to make it. "": something else lies there."""
    until = time.monotonic() + _PATIENCE
    others = time.monotonic() + _GRACE
    while True:
        found, now = _id_of(path), time.monotonic()
        if found or not os.path.isdir(path):
            return found
        # The first file of a run comes under another name and is renamed: it is no run yet, and nothing else either.
        if os.listdir(path):
            if now > others:
                return _id_of(path)
        elif now > until:
            raise RuntimeError(f"{path} is empty: the process that made it is gone, so this attempt is not recorded")
        time.sleep(0.02)


def _is_over(run: str, rank: int) -> bool:
    """Something was recorded there, and nobody goes on with it: this rank's own recording; or, where a launcher says
    that it started the ranks again, any that was broken off: this rank may not have come so far."""
    own = os.path.join(run, f"rank_{rank}", "journal")
    if os.path.exists(own):
        return not _in_use(own)
    if not started_again():
        return False
    try:
        ranks = [name for name in os.listdir(run) if re.fullmatch(r"rank_\d+", name)]
    except OSError:
        return False
    journals = [os.path.join(run, name, "journal") for name in ranks]
    return any(os.path.exists(path) and not _in_use(path) and _end_of(path) != "finished" for path in journals)


def _in_use(journal: str) -> bool:
    """A recorder holds the lock of its journal. On a file system without locks nobody can tell."""
    try:
        with open(journal, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return os.fstat(file.fileno()).st_size == 0  # made, and about to be locked
    except BlockingIOError:
        return True
    except OSError:
        return False


def _end_of(journal: str) -> str:
    """ "finished", "failed", "stopped"; "" of a process that did not come to say it. """
    try:
        with open(journal, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _END))
            last = file.read().rstrip(b"\n").rsplit(b"\n", 1)[-1]
        end = json.loads(last).get("end")
        return str(end["state"]) if isinstance(end, dict) else ""
    except (OSError, ValueError, KeyError, AttributeError):
        return ""


def _id_of(run: str) -> str:
    try:
        with open(os.path.join(run, "run.json"), encoding="utf-8") as file:
            found = json.load(file).get("id")
    except (OSError, ValueError, AttributeError):
        return ""
    return found if isinstance(found, str) and re.fullmatch(r"[0-9a-f]{32}", found) else ""


def started_again() -> bool:
    return any(_number(name) > 0 for name in ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"))


def _number(name: str) -> int:
    text: Optional[str] = os.environ.get(name)
    return int(text) if text is not None and text.isdigit() else 0

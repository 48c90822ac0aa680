"""What Python processes tell `msdbg dump`, which says it when nothing was recorded at all.

RUN/python_notes holds a JSON object a line, of all processes of the run on this file system:
    {"pid": 7, "event": "started", "python": "3.11.7", "program": "train.py"}    msdbg is in this process
    {"pid": 7, "event": "torch", "version": "2.15.0+cpu"}                        it has imported torch
    {"pid": 7, "event": "reason", "text": "no optimizer step was seen"}          why it recorded nothing
Only where a launcher made the folder, which reads the file when the run is over and removes it: it is no
part of a recording. Lines are short and appended by one write each, so those of several processes do not mix.
What cannot be written is left out: it is no reason to disturb a program. Thread-safe.
"""
from __future__ import annotations

import json
import os
import platform
import sys

_FILE = "python_notes"
_MOST_BYTES = 1 << 16  # of the file: a script may start thousands of processes
_MOST_TEXT = 500       # of a reason


def started() -> None:
    """This process has come so far that msdbg is in it."""
    words = getattr(sys, "argv", None) or [""]
    note("started", python=platform.python_version(), program=words[0][-_MOST_TEXT:])


def reason(text: str) -> None:
    """Why this process has recorded nothing, as half a sentence: "no optimizer step was seen"."""
    note("reason", text=text[:_MOST_TEXT])


def note(event: str, **facts: str) -> None:
    run = os.environ.get("MSDBG_DUMP")
    if not run or os.environ.get("MSDBG_RUN_INFO") != "launcher":
        return
    line = json.dumps({"pid": os.getpid(), "event": event, **facts}) + "\n"
    try:
        file = os.open(os.path.join(run, _FILE), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if os.fstat(file).st_size < _MOST_BYTES:
                os.write(file, line.encode())
        finally:
            os.close(file)
    except OSError:
        pass

"""The user's frames: where in the script something was called, innermost first.

Frames of torch, of msdbg and of the standard library are left out; those of other installed packages stay, marked
as not the user's own (`engine`). Every (code, instruction) is looked at once.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from types import CodeType, FrameType
from typing import Any, Optional

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_MOST = 64  # frames of one place: a recursion deeper than this says nothing more


Place = tuple[CodeType, int]  # code and line

_ENGINE = ("_engine_run_backward",)  # of torch/autograd/graph.py: what is called below it autograd calls


class Frames:
    """Interns frames with the recorder. Any thread that holds the GIL."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder
        self._ids: dict[tuple[int, int], int] = {}  # -1: not shown
        self._codes: list[CodeType] = []  # kept, so that an id() stays theirs
        self._kept: set[int] = set()
        self._own: set[int] = set()  # ids of the user's own frames
        self._skipped = _skipped_folders()

    def at(self, frame: Optional[FrameType]) -> tuple[int, ...]:
        """Of `frame` and its callers."""
        found: list[int] = []
        while frame is not None and len(found) < _MOST:
            known = self._known(frame)
            if known >= 0:
                found.append(known)
            frame = frame.f_back
        return tuple(found)

    def of(self, places: tuple[Place, ...]) -> tuple[int, ...]:
        """Of places that were noted before there was a recorder, or of an exception."""
        found = (self._define(code, line, None) for code, line in places[:_MOST])
        return tuple(number for number in found if number >= 0)

    def in_backward(self, frame: Optional[FrameType]) -> tuple[int, ...]:
        """The user's frames between autograd and an operator: of a backward or a hook of their own. Empty: there are
        none, as in the backward of an operator of torch's."""
        found: list[int] = []
        while frame is not None and frame.f_code.co_name not in _ENGINE:
            found += [number for number in (self._known(frame),) if number >= 0]
            frame = frame.f_back
        return tuple(found)

    def own(self, frames: tuple[int, ...]) -> int:
        """The innermost of the user's own; -1: there is none."""
        return next((frame for frame in frames if frame in self._own), -1)

    def here(self) -> tuple[int, ...]:
        return self.at(sys._getframe(1))

    def _known(self, frame: FrameType) -> int:
        key = (id(frame.f_code), frame.f_lasti)
        known = self._ids.get(key)
        return self._new(frame, key) if known is None else known

    def _new(self, frame: FrameType, key: tuple[int, int]) -> int:
        code = frame.f_code
        if key[0] not in self._kept:
            self._kept.add(key[0])
            self._codes.append(code)
        line = frame.f_lineno or code.co_firstlineno
        self._ids[key] = number = self._define(code, line, frame.f_globals)
        return number

    def _define(self, code: CodeType, line: int, names: Optional[dict[str, Any]]) -> int:
        file = code.co_filename
        path = file if file.startswith("<") else os.path.abspath(file)
        if file.startswith("<frozen") or path.startswith(_OURS):
            return -1
        installed = any(part in file for part in _PACKAGES)
        if any(file.startswith(folder) for folder in self._skipped[0 if installed else 1]):
            return -1
        text = linecache.getline(file, line, names).strip()
        name = getattr(code, "co_qualname", code.co_name)
        number = self._recorder.frame(path, line, name, text, installed)
        if not installed:
            self._own.add(number)
        return int(number)


def _skipped_folders() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of installed packages: torch's. Of the rest: the standard library's."""
    torch = sys.modules.get("torch")
    packages = []
    if torch is not None and torch.__file__:
        packages.append(os.path.dirname(torch.__file__) + os.sep)
    library = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(os.__file__)}
    return tuple(packages), tuple(folder + os.sep for folder in library if folder) + tuple(packages)


def places_here(frame: Optional[FrameType]) -> tuple[Place, ...]:
    """Of `frame` and its callers, to be told to a recorder later: a frame itself would keep its variables alive."""
    places = []
    while frame is not None and len(places) < _MOST:
        places.append((frame.f_code, frame.f_lineno or frame.f_code.co_firstlineno))
        frame = frame.f_back
    return tuple(places)


def places_of(error: BaseException) -> tuple[Place, ...]:
    """Where an exception was raised, innermost first."""
    places = []
    trace = error.__traceback__
    while trace is not None:
        places.append((trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    return tuple(reversed(places))


def place_of(error: BaseException) -> str:
    """Where in the user's code an exception was raised: "train.py:12", or "" """
    found = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if is_own(file):
            found = f"{os.path.basename(file)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def is_own(file: str) -> bool:
    """Of the user's code: not ours, no installed package, not the standard library."""
    if file.startswith(("<frozen", _OURS)) or any(part in file for part in _PACKAGES):
        return False
    return not any(file.startswith(folder) for folder in _skipped_folders()[1])

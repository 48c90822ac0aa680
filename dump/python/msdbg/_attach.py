"""Attaches the recording to a process in which torch is imported, and ends it with the process."""

from __future__ import annotations

import atexit
import importlib
import os
import signal
import sys
import threading
from typing import Any, Optional

from msdbg import _attempts, _identity, _state
from msdbg._batches import Batches
from msdbg._compiled import wrap_compile
from msdbg._frames import place_of
from msdbg._level import Level
from msdbg._losses import Losses
from msdbg._modules import Modules
from msdbg._ops import Ops
from msdbg._optimizers import Optimizers
from msdbg._recording import Recording
from msdbg._settings import Settings, check_level
from msdbg._stacks import Stacks
from msdbg._train import Train

_LEVELS: dict[str, type[Level]] = {level.name: level for level in (Train, Modules, Ops)}
_forks_noticed = False


def attach() -> None:
    """Called once torch is imported; records this process if MSDBG_DUMP names a run. Raises ValueError where the
    environment makes no sense, ImportError where the recorder's extension is missing."""
    if not os.environ.get("MSDBG_DUMP") or _state.current is not None:
        return
    recording = _install(Settings.from_environment())
    _end_with_process(recording)
    Stacks(recording).start()


def start(path: str, level: str) -> Recording:
    """A recording that somebody ends by finish() and detach()."""
    if _state.current is not None:
        raise RuntimeError(f"{path}: this process is recorded already, into {_state.current.settings.run}")
    check_level(level)
    _refuse_existing(path)
    recording = _install(Settings(os.path.abspath(path), level, strict=os.environ.get("MSDBG_STRICT") == "1"))
    recording.optimizers.meet_all()
    return recording


def _refuse_existing(path: str) -> None:
    """Said where the program asks for it, and not in the midst of the training that is then not recorded. Other ranks
    join what rank 0 made, and a program that was started again records beside its first attempt."""
    if _identity.rank_and_ranks()[0] != 0 or _attempts.started_again() or not os.path.lexists(path):
        return
    if not os.path.isdir(path) or os.listdir(path):
        raise FileExistsError(f"{path} is there already, and msdbg.record() replaces no run: name another folder, or "
                              "remove this one first")


def detach() -> None:
    """Takes everything back that the recording changed in torch."""
    if _state.current is not None:
        _state.current.patches.undo()
        _state.current = None


def text_of(error: BaseException) -> str:
    """"ValueError: bad shape (train.py:12)"."""
    place = place_of(error)
    return f"{type(error).__name__}: {error}" + (f" ({place})" if place else "")


def _install(settings: Settings) -> Recording:
    global _forks_noticed
    module = importlib.import_module(os.environ.get("MSDBG_RECORD_MODULE", "msdbg._record"))
    recording = Recording(settings, module)
    recording.optimizers = Optimizers(recording)
    losses = Losses(recording)
    losses.skipped, losses.stepped = recording.optimizers.skipped, recording.optimizers.stepped
    wrap_compile(recording)
    recording.start(lambda name: _LEVELS[name](recording))
    for part in (recording.optimizers, losses, Batches(recording)):
        part.start()
    _state.current = recording
    if not _forks_noticed:
        os.register_at_fork(after_in_child=_forked)
        _forks_noticed = True
    return recording


def _forked() -> None:
    if _state.current is not None:
        _state.current.abandon()
        _state.current = None


def _end_with_process(recording: Recording) -> None:
    """Ends with the interpreter; an exception that nobody catches is how it ended."""
    status: Optional[int] = None
    show, leave = sys.excepthook, sys.exit

    def excepthook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if issubclass(kind, KeyboardInterrupt):
            recording.guard(recording.finish, "stopped", "KeyboardInterrupt", 130)
        else:
            recording.guard(recording.raised, error)
            recording.guard(recording.finish, "failed", text_of(error), 1)
        show(kind, error, trace)

    def exit(code: Any = None) -> None:  # noqa: A001: sys.exit()
        nonlocal status
        status = code if isinstance(code, int) else (0 if code is None else 1)
        leave(code)

    def at_exit() -> None:
        if _state.current is not recording:
            return
        failed = bool(status)
        recording.guard(recording.finish, "failed" if failed else "finished",
                        f"sys.exit({status})" if failed else "", status or 0)

    sys.excepthook = excepthook
    sys.exit = exit  # type: ignore[assignment]
    atexit.register(at_exit)
    _end_with_sigterm(recording)


def _end_with_sigterm(recording: Recording) -> None:
    """What launchers send to end a process: what is recorded is put on the disk first. Where the program has a way
    of its own with the signal, that stays."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return

    def handler(number: int, frame: Any) -> None:
        if _state.current is recording:
            recording.guard(recording.finish, "stopped", "stopped by signal 15 (SIGTERM)", 128 + number)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, handler)

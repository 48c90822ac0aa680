"""What a recording is to be: from the environment of the process, or from msdbg.record(). Needs torch."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import dataclass, replace

import torch

from msdbg import _attempts, _frameworks, _identity

LEVELS = ("train", "modules", "ops")


@dataclass
class Settings:
    run: str  # absolute path
    level: str = "train"
    launcher: bool = False  # msdbg dump made the folder, and writes how the run ended
    run_id: str = ""
    strict: bool = False  # an error of the recording is raised, not only said (tests)
    attempt: int = 1  # the program was started again: which time
    makes: bool = False  # this process puts the run into the folder of another attempt

    @staticmethod
    def from_environment() -> "Settings":
        """ValueError: MSDBG_LEVEL names no level."""
        level = os.environ.get("MSDBG_LEVEL") or "train"
        check_level(level)
        return Settings(os.path.abspath(os.environ["MSDBG_DUMP"]), level,
                        os.environ.get("MSDBG_RUN_INFO") == "launcher", os.environ.get("MSDBG_RUN_ID", ""),
                        os.environ.get("MSDBG_STRICT") == "1")

    def of_attempt(self, rank: int) -> "Settings":
        """Where this process is to record, if its program was started before."""
        found = _attempts.find(self.run, rank, restarts_only=not self.launcher)
        if found.number == 1:
            return self
        return replace(self, run=found.run, run_id=found.run_id, attempt=found.number, makes=found.makes)

    def as_json(self, rank: int, ranks: int, run_id: str) -> str:
        """As the extension wants it."""
        attempt = {"attempt": str(self.attempt)} if self.attempt > 1 else {}
        return json.dumps({
            "run": self.run, "rank": rank, "ranks": ranks, "command": _command(),
            "program": sys.argv[0] if getattr(sys, "argv", None) else "", "launcher": self.launcher,
            "run_id": run_id, "create": self.makes or (rank == 0 and not self.launcher and self.attempt == 1),
            "libraries": {"torch": torch.__version__, "python": platform.python_version(), **attempt,
                          **_frameworks.versions()},
            "backend": f"pytorch {'cuda' if torch.cuda.is_available() else 'cpu'}", "level": self.level,
            "seed": torch.initial_seed() & (2**63 - 1), "threads": torch.get_num_threads()})


def check_level(level: str) -> None:
    if level not in LEVELS:
        raise ValueError(f"level {level!r} is none of {', '.join(LEVELS)} (MSDBG_LEVEL, msdbg.record)")


def which_run(settings: Settings, rank: int) -> str:
    """The id of the run to join; "" where this process makes it. Raises RuntimeError where nobody tells."""
    if settings.launcher or rank == 0:
        return settings.run_id
    return settings.run_id or _identity.ask_run()


def _command() -> list[str]:
    return list(getattr(sys, "orig_argv", None) or getattr(sys, "argv", None) or [sys.executable])

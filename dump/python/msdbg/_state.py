"""The recording of this process, if there is one. No torch here."""

from __future__ import annotations

from typing import Any, Optional

current: Optional[Any] = None  # a msdbg._recording.Recording


def is_name(name: str) -> bool:
    """Whether it can be written: as UTF-8, in a C string."""
    return "\0" not in name and not any("\ud800" <= letter <= "\udfff" for letter in name)

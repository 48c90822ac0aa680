"""The recording of this process, if there is one. No torch here."""

from __future__ import annotations

from typing import Any, Optional

current: Optional[Any] = None  # a msdbg._recording.Recording

"""Where what was built lies, for tests without torch: MSDBG_BUILD, or build/dev."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

BUILD = os.path.abspath(os.environ.get("MSDBG_BUILD") or os.path.join(os.path.dirname(__file__), "..", "..", "build", "dev"))
os.environ["MSDBG_CACHE_SIZE"] = "0"  # what one test computed again is no answer to another
MSDBG = os.path.join(BUILD, "bin", "msdbg")
EXTENSION = os.path.join(BUILD, "python", "msdbg", "_record.abi3.so")
LIBRARY = os.path.join(BUILD, "python", "msdbg", "libmsdbg_record.so")


def missing() -> str:
    """Why the extension cannot be tested; "" where it can."""
    if sys.version_info < (3, 9):
        return f"the extension needs Python 3.9, this is {sys.version.split()[0]}"
    gone = [path for path in (MSDBG, EXTENSION, LIBRARY) if not os.path.exists(path)]
    return f"not built: {', '.join(gone)}" if gone else ""


def extension() -> Any:
    """The module msdbg._record, without the package around it."""
    spec = importlib.util.spec_from_file_location("_record", EXTENSION)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

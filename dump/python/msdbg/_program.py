"""The command `msdbg` as pip installs it: this process becomes the program that lies in the package.

Imports nothing of torch: the program is to start at once.
"""
from __future__ import annotations

import os
import sys

_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "msdbg")


def main() -> None:
    try:
        os.execv(_PROGRAM, sys.argv)
    except OSError as error:
        sys.exit(f"msdbg: error: {_PROGRAM} cannot be started: {error.strerror}; install msdbg again, "
                 "with pip's wheel for this machine")

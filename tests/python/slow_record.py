"""msdbg._record without what runs without Python code: its recordings are what the others are held against."""

from msdbg._record import open  # noqa: A004, F401: the extension's name

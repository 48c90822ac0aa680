"""Waits for `import torch` in a process that is to be recorded, and attaches the recorder then.

Until torch is imported this costs a comparison of names for each import; afterwards nothing of it is left.
Imported at Python's start, so it imports next to nothing itself.
"""
from __future__ import annotations

import os
import sys

from msdbg import _notes


def start() -> None:
    """Lets the recorder attach as soon as torch is there, if MSDBG_DUMP names a run. Once."""
    if not os.environ.get("MSDBG_DUMP") or _TorchFinder.made:
        return
    _TorchFinder.made = True
    _notes.started()
    torch = sys.modules.get("torch")
    if torch is not None and not getattr(torch.__spec__, "_initializing", False):
        _attach(torch)
    else:
        sys.meta_path.insert(0, _TorchFinder())


def inject() -> None:
    """Puts the injection folder in front of PYTHONPATH: Pythons that this process starts are recorded too."""
    package = os.path.dirname(os.path.abspath(__file__))
    beside, inside = os.path.join(os.path.dirname(package), "inject"), os.path.join(package, "_inject")
    folder = beside if os.path.exists(os.path.join(beside, "sitecustomize.py")) else inside
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if os.path.isdir(folder) and folder not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([folder] + [path for path in paths if path])


class _TorchFinder:
    """First on sys.meta_path. Asking whether there is a torch (importlib.util.find_spec) does not end it."""

    made = False

    def find_spec(self, name, path=None, target=None):  # noqa: ANN001, ANN201 (importlib's protocol)
        if name != "torch":
            return None
        for finder in sys.meta_path:
            find_spec = None if finder is self else getattr(finder, "find_spec", None)
            spec = find_spec(name, path, target) if find_spec else None
            if spec is None:
                continue
            if spec.origin is not None and spec.loader is not None:  # else a folder that is named so
                spec.loader = _TorchLoader(spec.loader, self)
            return spec
        return None


class _TorchLoader:
    """torch's own loader, and what is to happen after it."""

    def __init__(self, loader, finder: _TorchFinder) -> None:  # noqa: ANN001
        self._loader, self._finder = loader, finder

    def create_module(self, spec):  # noqa: ANN001, ANN201
        return self._loader.create_module(spec)

    def exec_module(self, module) -> None:  # noqa: ANN001
        module.__spec__.loader = module.__loader__ = self._loader  # as in any other process
        self._loader.exec_module(module)  # where it raises, the next attempt comes by here again
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        _attach(module)

    def __getattr__(self, name: str):  # noqa: ANN204
        return getattr(self._loader, name)


def _attach(torch) -> None:  # noqa: ANN001
    """A program that cannot be recorded is told why, and trains."""
    try:
        from msdbg import _attach as recorder
        _notes.note("torch", version=str(getattr(torch, "__version__", "of unknown version")))
        recorder.attach()
    except Exception as error:
        reason = f"the recorder could not start: {type(error).__name__}: {error}"
        _notes.reason(reason)
        print(f"msdbg: warning: process {os.getpid()} is not recorded: {reason}", file=sys.stderr)

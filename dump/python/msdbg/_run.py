"""Runs a program in this process as `python` itself would: its sys.argv, sys.path, __main__ and tracebacks.

The module that ran until now makes room in sys.modules for good: threads, atexit functions and pickle find
the program's own __main__, also after its last line.
"""
from __future__ import annotations

import importlib.util
import io
import os
import runpy
import sys
from types import CodeType, ModuleType, TracebackType
from typing import List, Optional, Type

_MAIN = os.path.join(os.path.dirname(__file__), "__main__.py")


def run_path(words: List[str]) -> None:
    """`python words...`: a script, or a folder or zip file with a __main__.py. Ends as the program does."""
    path = words[0]
    sys.argv[:] = words
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        _leave_out_own_frames()
        runpy.run_path(path, run_name="__main__")
        return
    full = os.path.abspath(path)  # as python itself has it in __file__, tracebacks and messages
    try:
        with io.open_code(full) as file:
            text = file.read()
    except OSError as error:
        why = f"[Errno {error.errno}] {error.strerror}"
        print(f"{sys.executable}: can't open file {full!r}: {why}", file=sys.stderr)
        sys.exit(2)
    _replace_first_path(os.path.dirname(os.path.realpath(path)))
    _leave_out_own_frames()
    module = _new_main(full)
    _run(compile(text, full, "exec", dont_inherit=True), module)


def run_module(words: List[str]) -> None:
    """`python -m words...`. The current folder is first on sys.path already: this was started by -m too."""
    name = words[0]
    sys.argv[:] = ["-m"] + words[1:]
    spec = _find(name)
    if spec is not None and spec.submodule_search_locations is not None:
        name += ".__main__"
        spec = _find(name)
    code = spec.loader.get_code(spec.name) if spec is not None and hasattr(spec.loader, "get_code") else None
    if code is None:
        sys.exit(f"{sys.executable}: No module named {name}")
    sys.argv[0] = spec.origin
    module = _new_main(spec.origin)
    module.__spec__, module.__loader__, module.__package__ = spec, spec.loader, spec.parent
    module.__cached__ = spec.cached
    _leave_out_own_frames()
    _run(code, module)


def _find(name: str):  # noqa: ANN202 (Optional[ModuleSpec])
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError) as error:
        sys.exit(f"{sys.executable}: Error while finding module specification for {name!r} "
                 f"({type(error).__name__}: {error})")


def _replace_first_path(folder: str) -> None:
    """-m put the current folder in front, a script has its own there; with -P and -I it is neither."""
    if getattr(sys.flags, "safe_path", False) or sys.flags.isolated:
        return
    if sys.path and sys.path[0] in ("", os.getcwd()):
        sys.path[0] = folder
    else:
        sys.path.insert(0, folder)


def _new_main(file: str) -> ModuleType:
    module = ModuleType("__main__", None)
    module.__file__ = file
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = module
    return module


def _run(code: CodeType, module: ModuleType) -> None:
    exec(code, module.__dict__)  # noqa: S102 (what is here for)


def _leave_out_own_frames() -> None:
    """The traceback of an exception that nobody catches begins in the program, as without msdbg."""
    show = sys.excepthook

    def hook(kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
        first = trace
        while first is not None and _is_ours(first.tb_frame.f_code.co_filename):
            first = first.tb_next
        if first is None and not isinstance(error, SyntaxError):  # of the script's text: no frame of it ran
            first = trace  # a mistake of ours
        show(kind, error.with_traceback(first), first)

    sys.excepthook = hook


def _is_ours(file: str) -> bool:
    return file in (__file__, _MAIN, runpy.__file__) or file.startswith("<frozen ")

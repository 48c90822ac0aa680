"""What trains in this process beside torch: the recorder knows nothing of it, so what was tried is listed here, once.

tests/python/test_torch_frameworks.py trains with each of the first table, recorded at every level. Standard library only.
"""
from __future__ import annotations

import sys
from types import FrameType
from typing import Dict, Iterable, Optional, Set

# Package, and the version that the tests ran with.
TESTED: Dict[str, str] = {
    "accelerate": "1.15.0",
    "lightning": "2.6.6",
    "pytorch_lightning": "2.6.6",  # by hand: it is the same code under another name
    "transformers": "5.24.0",
}
# What has a loop, an optimizer or ranks of its own, and was not tried.
UNTESTED = ("apex", "bagua", "colossalai", "composer", "deepspeed", "fairscale", "fastai", "horovod", "ignite", "megatron",
            "torch_xla", "torchtitan")


def versions() -> Dict[str, str]:
    """Of those that are imported."""
    found = {}
    for name in (*TESTED, *UNTESTED):
        module = sys.modules.get(name)
        if module is not None and getattr(module, "__spec__", None) is not None:  # no name that somebody made up
            found[name] = str(getattr(module, "__version__", "") or "of unknown version")
    return found


def warning(kinds: Iterable[type]) -> str:
    """Names what is at work and was never tried; "" where there is nothing of it. `kinds`: of modules and optimizers.
    To be imported is not enough: transformers imports what is installed."""
    there = versions()
    at_work = _packages(kinds) | _callers()
    untested = [f"{name} {there[name]}" for name in UNTESTED if name in there and name in at_work]
    if not untested:
        return ""
    return (f"the recorder was not tested with {', '.join(untested)} (but with {', '.join(TESTED)}): where iterations or "
            "parameters are not what you expect, call msdbg.step(n) where each step begins")


def _packages(kinds: Iterable[type]) -> Set[str]:
    return {base.__module__.split(".")[0] for kind in kinds for base in kind.__mro__}


def _callers() -> Set[str]:
    """Packages whose functions are at work now."""
    found: Set[str] = set()
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        found.add(str(frame.f_globals.get("__name__", "")).split(".")[0])
        frame = frame.f_back
    return found

"""Collectives return before their values are there: waits for them, which changes no value. Needs torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def wait_for(out: Any) -> None:
    """`out`: what an operator of c10d or _c10d_functional returned."""
    for thing in out if isinstance(out, (tuple, list)) else (out,):
        if isinstance(thing, (tuple, list)):
            wait_for(thing)
        elif isinstance(thing, Tensor):
            continue
        elif thing is not None and "Work" in str(getattr(thing, "_type", lambda: "")()):
            torch._C._distributed_c10d.Work.unbox(thing).wait()


def wait_functional(out: Any) -> None:
    for thing in out if isinstance(out, (tuple, list)) else (out,):
        if isinstance(thing, Tensor):
            torch.ops._c10d_functional.wait_tensor(thing)

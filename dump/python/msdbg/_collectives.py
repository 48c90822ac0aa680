"""Collectives: what they do with the values of which ranks. They return before their values are there: waits for them,
which changes no value. Needs torch."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
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


def facts_of(names: tuple[str, ...], args: tuple[Any, ...]) -> dict[str, Any]:
    """Attributes of the node: `reduce_op` ("avg"; old versions of torch do not tell it), `group`, the ranks that take
    part, where those are not all."""
    given = dict(zip(names, args))
    facts: dict[str, Any] = {}
    reduction, group = given.get("reduce_op"), given.get("process_group")
    if isinstance(reduction, torch.ScriptObject) and hasattr(dist.ReduceOp, "unbox"):
        facts["reduce_op"] = dist.ReduceOp.unbox(reduction).op.name.lower()
    if isinstance(group, torch.ScriptObject):
        group = dist.ProcessGroup.unbox(group)
    elif isinstance(given.get("group_name"), str):
        group = dist.distributed_c10d._resolve_process_group(given["group_name"])
    ranks = dist.get_process_group_ranks(group) if group is not None else []
    if 0 < len(ranks) < dist.get_world_size():
        facts["group"] = sorted(ranks)
    return facts

"""Names of what a module is called with: those of its forward()."""

from __future__ import annotations

import inspect
from typing import Any

from torch import Tensor

from msdbg._level import named_batch

_parameters: dict[type, list[str]] = {}
_CARRIED = {"hx", "h0", "c0", "h_0", "c_0", "hidden", "state", "states", "past_key_values", "cache", "memory", "mems"}


def named_inputs(module: Any, path: str, args: tuple[Any, ...],
                 kwargs: dict[str, Any]) -> list[tuple[str, Tensor, str]]:
    """("Net/x", values, "input") of every tensor that is given."""
    names = _names(type(module))
    found: list[tuple[str, Tensor, str]] = []
    for index, value in enumerate(args):
        name = names[index] if index < len(names) else str(index)
        found += _of(name, value, path)
    for name, value in kwargs.items():
        found += _of(name, value, path)
    return found


def _of(name: str, value: Any, path: str) -> list[tuple[str, Tensor, str]]:
    """Data of a loader, except what the step before gave, and single numbers (how many tokens count): settings."""
    carried = name in _CARRIED
    return [(full, tensor, "constant" if carried or (role == "input" and tensor.dim() == 0) else role)
            for full, tensor, role in named_batch({name: value}, path)]


def _names(kind: type) -> list[str]:
    known = _parameters.get(kind)
    if known is None:
        try:
            parameters = list(inspect.signature(kind.forward).parameters.values())[1:]
        except (TypeError, ValueError):
            parameters = []
        known = [p.name for p in parameters
                 if p.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        _parameters[kind] = known
    return known

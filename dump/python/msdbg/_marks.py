"""Nodes that say something of the program, and compute nothing: a mark, one boolean, with attributes and a line. Needs
torch.
"""

from __future__ import annotations

from typing import Any

import torch

from msdbg._graph import Scope


def tell(recording: Any, scope: Scope, kind: str, number: int, attributes: dict[str, Any], frames: tuple[int, ...],
         inputs: tuple[int, ...] = (), phase: str = "forward") -> None:
    """The node "scope/kind-opN" of the domain `torch`, in the iteration in progress."""
    recording.level.suspend()
    try:
        seen = torch.ones((), dtype=torch.bool)
        entry = recording.graph.node(scope, kind, number, "torch", phase, inputs,
                                     ((seen.dtype, (), "activation", "", -1, -1),), attributes, frames, made=(seen,))
        recording.recorder.ran(entry.node)
        recording.values.see(entry.outputs[0], seen)
    finally:
        recording.level.resume()

"""Recurrent layers and self-attention, as their program calls them: which axis they take for time. A node of its own,
"Net/lstm/recurrent-op1" or "Net/attn/attention-op1", once: the operators below say it in many ways. Needs torch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from msdbg._marks import tell

LAYERS = (nn.RNNBase, nn.MultiheadAttention)


class Recurrent:
    def __init__(self, recording: Any) -> None:
        self._recording = recording
        self._met: set[str] = set()

    def called(self, module: Any, args: Any) -> None:
        """Such a layer begins to compute. Packed sequences know their own axes."""
        recording = self._recording
        path = recording.names.module(module)
        given = args[0] if args else None
        if path in self._met or not isinstance(given, torch.Tensor) or given.dim() != 3:
            return
        attends = isinstance(module, nn.MultiheadAttention)
        if attends and (len(args) < 2 or args[1] is not given):
            return
        self._met.add(path)
        steps, sequences = given.shape[:2] if not module.batch_first else (given.shape[1], given.shape[0])
        tell(recording, recording.graph.scope(path), "attention" if attends else "recurrent", 1,
             {"steps": steps, "sequences": sequences, "batch_first": bool(module.batch_first)}, recording.frames.here())

"""Recurrent layers and self-attention, as their program calls them: which axis they take for time. A node of its own,
"Net/lstm/recurrent-op1" or "Net/attn/attention-op1", once: the operators below say it in many ways. And whether they begin
with the state that they ended with on the batch before, while the loader shuffles: "Net/lstm/carried_state-op1". Needs
torch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from msdbg._marks import tell

LAYERS = (nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention)


class Recurrent:
    def __init__(self, recording: Any) -> None:
        self._recording = recording
        self._met: set[str] = set()
        self._ended: dict[str, tuple[int, list[Tensor]]] = {}  # after how many shuffled batches, with which state
        self._carries: set[str] = set()

    def called(self, module: Any, args: Any) -> None:
        """Such a layer begins to compute. Packed sequences know their own axes."""
        recording = self._recording
        path = recording.names.module(module)
        if len(args) > 1 and path in self._ended:
            self._began(path, _states(args[1]))
        given = args[0] if args else None
        if path in self._met or not isinstance(given, torch.Tensor) or given.dim() != 3:
            return  # a cell has no axis of time
        attends = isinstance(module, nn.MultiheadAttention)
        if attends and (len(args) < 2 or args[1] is not given):
            return
        self._met.add(path)
        steps, sequences = given.shape[:2] if not module.batch_first else (given.shape[1], given.shape[0])
        tell(recording, recording.graph.scope(path), "attention" if attends else "recurrent", 1,
             {"steps": steps, "sequences": sequences, "batch_first": bool(module.batch_first)}, recording.frames.here())

    def left(self, module: Any, result: Any) -> None:
        """Such a layer has computed."""
        recording = self._recording
        if recording.shuffled == 0 or isinstance(module, nn.MultiheadAttention):
            return
        path = recording.names.module(module)
        if path in self._carries:
            return
        recording.level.suspend()
        try:
            states = [state.detach() for state in _states(result[1] if isinstance(module, nn.RNNBase) else result)]
        finally:
            recording.level.resume()
        self._ended[path] = recording.shuffled, states

    def _began(self, path: str, given: list[Tensor]) -> None:
        recording = self._recording
        batches, states = self._ended[path]
        if batches == recording.shuffled or len(given) != len(states):
            return  # parts of one sequence follow each other within a batch
        recording.level.suspend()
        try:
            same = all(a.shape == b.shape and a.device == b.device and torch.equal(a, b) for a, b in zip(given, states))
        finally:
            recording.level.resume()
        if same:
            self._carries.add(path)
            del self._ended[path]
            tell(recording, recording.graph.scope(path), "carried_state", 1, {}, recording.frames.here())


def _states(given: Any) -> list[Tensor]:
    every = given if isinstance(given, (tuple, list)) else (given,)
    return [state for state in every if isinstance(state, Tensor)]

"""Losses: what backward() is called on; GradScaler's factor; the norm that clipping computed. Needs torch."""

from __future__ import annotations

import sys
import weakref
from typing import Any, Callable

import torch
from torch import Tensor

from msdbg._adds import Adds
from msdbg._recording import Recording
from msdbg._tensors import local


class Losses:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._sites: list[tuple[Any, int]] = []  # of backward() calls, and which loss there, as they were met
        self._adds = Adds(recording)
        self._scaled: dict[int, tuple[Any, float]] = {}  # id of a scaled loss -> weak reference, factor
        self.skipped: Callable[[Any], None] = lambda optimizer: None
        self.stepped: Callable[[Any], None] = lambda optimizer: None

    def start(self) -> None:
        patches = self._recording.patches
        patches.wrap(torch.autograd, "backward", self._wrap_backward)
        patches.wrap(torch.autograd, "grad", self._wrap_grad)
        patches.wrap(torch.nn.utils, "clip_grad_norm_", self._wrap_clip)
        scaler = getattr(torch.amp, "GradScaler", None)
        if scaler is not None:
            patches.wrap(scaler, "scale", self._wrap_scale)
            patches.wrap(scaler, "step", self._wrap_scaler_step)

    def _wrap_backward(self, original: Callable[..., None]) -> Callable[..., None]:
        def backward(tensors: Any, grad_tensors: Any = None, retain_graph: Any = None, create_graph: bool = False,
                     *args: Any, **kwargs: Any) -> None:
            if torch._C._current_graph_task_id() != -1:  # checkpointing computes something again
                return original(tensors, grad_tensors, retain_graph, create_graph, *args, **kwargs)
            level = self._recording.level
            kept, by_hand = self._recording.optimizers.kept, self._recording.by_hand
            self._recording.guard(by_hand.backward_begins)
            self._recording.guard(self._adds.backward_begins)
            self._recording.guard(self._losses, tensors, create_graph)
            self._recording.guard(kept.backward_began)
            level.backward_began(create_graph)
            try:
                return original(tensors, grad_tensors, retain_graph, create_graph, *args, **kwargs)
            finally:
                level.backward_ended()
                self._recording.guard(kept.backward_ended)
                self._recording.guard(self._adds.backward_ended)
                self._recording.guard(by_hand.backward_ended, tensors)

        return backward

    def _wrap_grad(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: Any = None,
                 create_graph: bool = False, *args: Any, **kwargs: Any) -> Any:
            level = self._recording.level
            before = getattr(level, "create_graph", False)
            level.create_graph = before or create_graph
            try:
                return original(outputs, inputs, grad_outputs, retain_graph, create_graph, *args, **kwargs)
            finally:
                level.create_graph = before

        return grad

    def _losses(self, tensors: Any, create_graph: bool) -> None:
        recording = self._recording
        site = _site()
        for loss in (tensors,) if isinstance(tensors, Tensor) else tuple(tensors):
            if not isinstance(loss, Tensor):
                continue
            recording.level.backward(loss, create_graph)
            if recording.watching:
                recording.reach.loss(loss)
            if loss.numel() == 1 and recording.watching:
                self._add(site, loss)

    def _add(self, site: tuple[str, int], loss: Tensor) -> None:
        """backward() again on the same line: accumulation, whose parts add up; or another loss, where a step was made or
        the gradients were set to zero in between."""
        level = self._recording.level
        level.suspend()
        try:
            value = float(local(loss).detach())
        finally:
            level.resume()
        scaled = self._scaled.get(id(loss))
        if scaled is not None and scaled[0]() is loss and scaled[1] > 0:
            value /= scaled[1]
        turn = (site, self._adds.turn(site))
        if turn not in self._sites:
            self._sites.append(turn)
        index = self._sites.index(turn)
        key = "loss" if index == 0 else f"loss/{index}"
        scalars = self._recording.scalars
        if not (self._recording.trying and key in scalars):
            scalars[key] = scalars.get(key, 0.0) + value

    def _wrap_clip(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def clip_grad_norm_(*args: Any, **kwargs: Any) -> Any:
            norm = original(*args, **kwargs)
            self._recording.guard(self._norm, norm)
            return norm

        return clip_grad_norm_

    def _norm(self, norm: Any) -> None:
        recording = self._recording
        if not recording.ready():
            return
        recording.level.suspend()
        try:
            value = float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)
        finally:
            recording.level.resume()
        recording.scalars.setdefault("gradient_norm", value)

    def _wrap_scale(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scale(scaler: Any, outputs: Any) -> Any:
            result = original(scaler, outputs)
            if isinstance(result, Tensor) and scaler.is_enabled():
                self._recording.guard(self._remember, scaler, result)
            return result

        return scale

    def _remember(self, scaler: Any, result: Tensor) -> None:
        self._scaled[id(result)] = (weakref.ref(result), self._factor(scaler))
        if len(self._scaled) > 64:
            self._scaled = {key: pair for key, pair in self._scaled.items() if pair[0]() is not None}

    def _factor(self, scaler: Any) -> float:
        level = self._recording.level
        level.suspend()
        try:
            return float(scaler.get_scale())
        finally:
            level.resume()

    def _wrap_scaler_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            recording = self._recording
            if not scaler.is_enabled():
                return original(scaler, optimizer, *args, **kwargs)
            stepped = False

            def note(*_: Any) -> None:
                nonlocal stepped
                stepped = True

            handle = optimizer.register_step_post_hook(note)
            recording.scaling = True
            try:
                result = original(scaler, optimizer, *args, **kwargs)
            finally:
                recording.scaling = False
                handle.remove()
            recording.guard(self._scaler_stepped, scaler, optimizer, stepped)
            return result

        return step

    def _scaler_stepped(self, scaler: Any, optimizer: Any, stepped: bool) -> None:
        if not stepped:
            self.skipped(optimizer)
        if self._recording.watching:
            self._recording.scalars["loss_scale"] = self._factor(scaler)
        self.stepped(optimizer)


def _site() -> tuple[str, int]:
    """The line outside torch and msdbg that called backward()."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("torch", "msdbg"):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)

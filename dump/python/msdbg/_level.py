"""What a level is to the rest: told what happens in a training, it tells the recorder what its level has of that."""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch import Tensor

from msdbg._names import Parameter
from msdbg._recording import Recording
from msdbg._tensors import tensors_in

_LABELS = {"label", "labels", "target", "targets", "y", "start_positions", "end_positions"}


NO_STEP = ("no step of a torch.optim optimizer was seen; where the program changes its parameters itself, call "
           "msdbg.step(n) at the beginning of each of its steps")


class Level:
    name = ""
    nothing = NO_STEP + "; where it calls no backward() either, record it at level ops"  # why, if nothing was recorded
    create_graph = False  # gradients are computed such that they have gradients
    exact = False  # a storage's tensor is the last thing that was written there

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    def start(self) -> None:
        """Installs the hooks that only this level has."""

    def stop(self) -> None:
        """Takes them away. The second call does nothing."""

    def new_iteration(self) -> None:
        """The one before was handed over."""

    def began(self) -> None:
        """Something of the new iteration is about to be recorded."""

    def ending(self) -> None:
        """The iteration is about to be handed over."""

    def flush(self) -> None:
        """The iteration ends without an optimizer."""

    def suspend(self) -> None:
        """What comes now is not to be recorded: an optimizer at work, a data loader."""

    def resume(self) -> None:
        """The end of the last suspend()."""

    def optimizer_made(self) -> None:
        """A training is about to begin."""

    def batch(self, tensors: list[tuple[str, Tensor, str]]) -> None:
        """A data loader gave these: name, values, role."""

    def backward(self, loss: Tensor, create_graph: bool) -> None:
        """Gradients of it are about to be computed."""

    def backward_began(self, create_graph: bool) -> None:
        """After backward(): autograd begins."""

    def backward_ended(self) -> None:
        """It ended, or failed."""

    def parameter(self, known: Parameter, value: Tensor) -> int:
        """The tensor that a parameter is now."""
        return self.recording.values.of(value, known.name, "parameter")

    def gradient(self, gradient: Tensor, known: Parameter) -> Optional[int]:
        """The tensor whose value became a gradient that an optimizer is about to read, as far as it is known."""
        made = self.recording.values.known(gradient)
        return self.otherwise(known) if made is None else made

    def otherwise(self, known: Parameter) -> Optional[int]:
        """What made a gradient whose own value is not known."""
        return None

    def frames_of(self, known: Parameter) -> tuple[int, ...]:
        """Where a parameter was used."""
        return ()

    def enter_scope(self, name: str) -> Callable[[], None]:
        """Returns what leaves it."""
        return lambda: None

    def watch(self, watched: Any, name: str) -> None:
        recording = self.recording
        tensor = torch.as_tensor(watched)
        here = recording.values.known(tensor)
        graph = recording.graph
        entry = graph.node(graph.scope("watch"), name, 1, "torch", "forward", () if here is None else (here,),
                           ((tensor.dtype, tuple(tensor.shape), "activation", f"watch/{name}", -1, -1),),
                           frames=recording.frames.here(), domain_type="watch", made=(tensor,))
        if entry.outputs[0] in recording.values.seen:
            return
        recording.recorder.ran(entry.node)
        recording.values.see(entry.outputs[0], tensor)


def named_batch(thing: Any, prefix: str) -> list[tuple[str, Tensor, str]]:
    """Tensors of a batch with name and role: the second of a pair is the label, as are those that are named so."""
    found = list(tensors_in(thing))
    pair = isinstance(thing, (tuple, list)) and len(thing) == 2 and len(found) == 2
    named = []
    for path, tensor in found:
        label = path.rsplit("/", 1)[-1].lower() in _LABELS or (pair and path == "1")
        named.append((f"{prefix}/{path}" if path else prefix, tensor, "label" if label else "input"))
    return named

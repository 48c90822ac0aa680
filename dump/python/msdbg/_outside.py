"""What something else than an operator wrote: a kernel of Triton or of an extension, NumPy, data_ptr(). Needs torch.

torch does not tell of it. What an operator reads is looked at again when it is met first, and from then on where that was
another value than the last one seen; and whenever it makes NaN or Inf of values that were finite. Memory that no operator
has written into since it was made is always looked at. What somebody wrote becomes a node of its own, and the operator
reads what that made. Costs nothing while an operator is what it was and everything is finite.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from msdbg._call import Call, again
from msdbg._graph import Entry, Scope
from msdbg._recording import Recording
from msdbg._tensors import dense, is_whole, local, storage_key

KIND = "written_outside"
_ENOUGH = 3  # so often an operator made infinities of finite values that nobody wrote into: it is its way


class Outside:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._innocent: dict[int, int] = {}  # by node
        self._written: dict[Any, set[int]] = {}  # by operator, scope, number: which inputs were written so far

    def before(self, call: Call, known: bool) -> None:
        """It ran, and is about to be told: it reads what somebody wrote. `known`: it ran in an iteration before."""
        key = (call.operator, call.scope, call.number)
        written = self._written.get(key)
        values = self._recording.values
        if (known and not written and not values.any_unwritten()) or call.operator.collective or call.operator.shapes:
            return
        for index, (tensor, number) in enumerate(self._read(call)):
            if tensor is None or tensor.numel() == 0:
                continue
            made = values.unwritten_since(tensor, number)
            if made is not None:
                self._replace(call, index, self._write_before(call, tensor, number, made))
            elif (not known or (written and index in written)) and values.differs(tensor, number, known):
                self._written.setdefault(key, set()).add(index)
                self._replace(call, index, self._write_before(call, tensor, number, self._frames(call)))

    def _replace(self, call: Call, index: int, now: int) -> None:
        before = call.reads[index][2]
        call.reads[:] = [(p, i, now if number == before else number) for p, i, number in call.reads]
        call.inputs = tuple([number for _, _, number in call.reads])

    def _frames(self, call: Call) -> tuple[int, ...]:
        if call.origin is not None and call.origin is not again:
            frames: tuple[int, ...] = call.origin.frames
            return frames
        return self._recording.frames.at(call.frame)

    def _write_before(self, call: Call, tensor: Tensor, number: int, frames: tuple[int, ...]) -> int:
        recording, graph = self._recording, self._recording.graph
        backward = call.origin is not None and call.origin is not again
        entry = self._node(call.scope, "backward" if backward else "forward", tensor, number, frames,
                           graph.derived_of((number,)) if backward else -1)
        recording.recorder.ran(entry.node)
        recording.values.see(entry.outputs[0], tensor)
        recording.values.wrote(tensor, entry.outputs[0])
        return entry.outputs[0]

    def made(self, call: Call, entry: Entry) -> None:
        """It ran. What it made may not be finite."""
        finite = getattr(self._recording.recorder, "is_finite", None)
        if finite is not None and any(finite(number) is False for number in entry.outputs):
            if not any(finite(number) is False for number in call.inputs):
                self.doubt(call, entry)

    def doubt(self, call: Call, entry: Entry) -> None:
        """Of finite values it made others."""
        if call.operator.collective or self._innocent.get(entry.node, 0) >= _ENOUGH:
            return
        inputs = list(call.inputs)
        for index, (tensor, number) in enumerate(self._read(call)):
            if tensor is not None and self._changed(tensor, number):
                inputs[index] = self._write(tensor, number, entry)
        if inputs == list(call.inputs):
            self._innocent[entry.node] = self._innocent.get(entry.node, 0) + 1

    def stepped(self, gradient: Tensor, number: int, update: Entry) -> None:
        """An optimizer's turn of a parameter ran. The gradient was looked at when the backward pass made it."""
        finite = getattr(self._recording.recorder, "is_finite", None)
        if finite is None or finite(update.outputs[0]) is not False:
            return
        self._recording.level.suspend()
        try:
            if self._changed(gradient, number):
                self._write(gradient, number, update)
        finally:
            self._recording.level.resume()

    def _changed(self, tensor: Tensor, number: int) -> bool:
        return self._recording.recorder.is_finite(number) is True and not _is_finite(tensor)

    def _read(self, call: Call) -> list[tuple[Optional[Tensor], int]]:
        """What it read and did not write itself, else None, in the order of its inputs."""
        written = {storage_key(dense(local(target))) for target in call.targets}
        return [(None if tensor is None or storage_key(dense(local(tensor))) in written else tensor, number)
                for tensor, number in ((_argument(call, *where), where[2]) for where in call.reads)]

    def _write(self, tensor: Tensor, number: int, reader: Entry) -> int:
        """The node of what wrote it, before its reader, which ran. Returns what it is now."""
        recording, graph = self._recording, self._recording.graph
        value = dense(local(tensor))
        entry = self._node(reader.scope, reader.phase, tensor, number, reader.frames, reader.derived_from)
        now = entry.outputs[0]
        graph.came_between(entry, reader, tuple(now if read == number else read for read in reader.inputs))
        recording.values.see(now, tensor)
        if is_whole(value):
            recording.values.put(value, now)
        return now

    def _node(self, scope: Scope, phase: str, tensor: Tensor, number: int, frames: tuple[int, ...],
              derived_from: int) -> Entry:
        graph = self._recording.graph
        slot = graph.slot(scope, KIND)
        value = dense(local(tensor))
        role = "gradient" if graph.roles.get(number) == "gradient" else "activation"
        entry = graph.node(scope, KIND, graph.counts[slot] + 1, "torch", phase, (number,),
                           ((value.dtype, tuple(value.shape), role, "", -1, -1),), {}, frames, derived_from,
                           made=(value,))
        graph.counts[slot] = entry.number
        return entry


def _argument(call: Call, position: int, item: int, number: int) -> Optional[Tensor]:
    if position < 0:
        return None
    value = call.args[position]
    return value if item < 0 else value[item]


def _is_finite(tensor: Any) -> bool:
    value = dense(local(tensor)).detach()
    if value.is_meta or value.is_quantized or not (value.is_floating_point() or value.is_complex()):
        return True
    return bool(torch.isfinite(value).all())

"""What something else than an operator wrote: a kernel of Triton or of an extension, NumPy, data_ptr(). Needs torch.

torch does not tell of it. Where an operator makes NaN or Inf of values that were finite when they were looked at, what it
read is looked at again: if that is not finite any more, somebody wrote into it since, which becomes a node of its own,
and the operator reads what that made. Costs nothing while everything is finite.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from msdbg._call import Call
from msdbg._graph import Entry
from msdbg._recording import Recording
from msdbg._tensors import dense, is_whole, local, storage_key

KIND = "written_outside"
_ENOUGH = 3  # so often an operator made infinities of finite values that nobody wrote into: it is its way


class Outside:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._innocent: dict[int, int] = {}  # by node

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
        """The node of what wrote it, before its reader. Returns what it is now."""
        recording, graph = self._recording, self._recording.graph
        slot = graph.slot(reader.scope, KIND)
        value = dense(local(tensor))
        role = "gradient" if graph.roles.get(number) == "gradient" else "activation"
        entry = graph.node(reader.scope, KIND, graph.counts[slot] + 1, "torch", reader.phase, (number,),
                           ((value.dtype, tuple(value.shape), role, "", -1, -1),), {}, reader.frames,
                           reader.derived_from)
        graph.counts[slot] = entry.number
        now = entry.outputs[0]
        graph.came_between(entry, reader, tuple(now if read == number else read for read in reader.inputs))
        recording.values.see(now, tensor)
        if is_whole(value):
            recording.values.put(value, now)
        return now


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

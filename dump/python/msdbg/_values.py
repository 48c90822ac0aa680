"""Which tensor of the graph each storage shows, in the iteration that is recorded.

Storages are told apart by address; a weak reference of torch's keeps the address of each from being used again
before the iteration ends (the memory itself is free). One thread at a time. Needs torch.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from msdbg._graph import Graph
from msdbg._names import Names, Parameter
from msdbg._parts import Parts, region_of
from msdbg._tensors import dense, is_whole, local, storage_key, storage_of, version_of, whole

PARTS = -1  # in `ids`: only parts of this storage are known, see _parts
_SMALL = 1 << 20  # bytes; larger constants are looked at again only where they were written


class Values:
    def __init__(self, recorder: Any, graph: Graph, names: Names) -> None:
        self._recorder = recorder
        self._graph = graph
        self._names = names
        names.on_new = self._became_parameter
        self.ids: dict[int, int] = {}  # storage -> tensor
        self._parts: dict[int, Parts] = {}  # storage -> what is known of it, where `ids` says PARTS
        self._unwritten: dict[int, tuple[int, tuple[int, ...]]] = {}  # storage -> bytes, frames, while nobody wrote there
        self._fresh: dict[int, tuple[int, ...]] = {}  # storage -> frames of the torch.tensor() that made it
        self.held: list[int] = []
        self._constants: dict[int, tuple[int, int]] = {}  # source -> address, version, when last seen
        self.parameters: dict[int, Parameter] = {}  # by id of the source: were read in this iteration
        self._before: dict[int, Parameter] = {}  # in the one before
        self._used: set[int] = set()  # sources without a name of their own
        self.seen: set[int] = set()
        self._seen_as: dict[int, tuple[Any, ...]] = {}  # what see() was given: version, layout if it took a copy

    def clear(self) -> None:
        """The iteration ended: nobody knows what the storages will show in the next one."""
        free = torch.UntypedStorage._free_weak_ref
        for reference in self.held:
            free(reference)
        self.held.clear()
        self.ids.clear()
        self._parts.clear()
        self._unwritten.clear()
        self._fresh.clear()
        self.seen.clear()
        self._seen_as.clear()
        self._used.clear()
        self._before = dict(self.parameters)
        self.parameters.clear()  # it stays: others hold it

    def hold(self, tensor: Tensor) -> None:
        self.held.append(storage_of(tensor)._weak_ref())

    def put(self, tensor: Tensor, number: int) -> None:
        """From now on the storage of `tensor` shows this."""
        tensor = dense(local(tensor))
        key = storage_key(tensor)
        if key not in self.ids:
            self.hold(tensor)
        self.ids[key] = number

    def unwritten(self, tensor: Tensor, number: int, frames: tuple[int, ...]) -> None:
        """It was made there, and has no values yet."""
        self.put(tensor, number)
        self._unwritten[storage_key(tensor)] = storage_of(tensor).nbytes(), frames

    def any_unwritten(self) -> bool:
        return bool(self._unwritten)

    def unwritten_since(self, tensor: Tensor, number: int) -> Optional[tuple[int, ...]]:
        """Of what shows `number`, if no operator wrote into it since it was made: the frames of that."""
        key = storage_key(tensor)
        made = self._unwritten.get(key)
        return made[1] if made is not None and self.ids.get(key) == number and number not in self.seen else None

    def fresh(self, tensor: Tensor, frames: tuple[int, ...]) -> None:
        """torch.tensor() made it: where it is read first it is a source with that line."""
        key = storage_key(tensor)
        if key not in self.ids and key not in self._fresh:
            self.hold(tensor)
        self._fresh[key] = frames

    def wrote(self, tensor: Tensor, number: int) -> None:
        """An operator wrote all that `tensor` shows."""
        tensor = dense(local(tensor))
        key = storage_key(tensor)
        if is_whole(tensor):
            self._unwritten.pop(key, None)
            self.put(tensor, number)
            return
        before = self.ids.get(key)
        if before != PARTS:
            empty = self._unwritten.pop(key, (0,))[0]
            self._parts[key] = Parts(None if empty else before, empty)
            self.put(tensor, PARTS)
        self._parts[key].write(tensor, number)

    def before(self, tensor: Tensor) -> Optional[int]:
        """What the storage showed before something is written into it."""
        number = self.ids.get(storage_key(tensor))
        return self._parts[storage_key(tensor)].before if number == PARTS else number

    def pieces(self, tensor: Tensor) -> Optional[Parts]:
        """Where a tensor shows parts that were written one by one: what is known of its storage."""
        key = storage_key(tensor)
        if self.ids.get(key) != PARTS:
            return None
        parts = self._parts[key]
        return parts if parts.written and region_of(tensor) not in parts.ids else None

    def joined(self, tensor: Tensor, number: int) -> None:
        """That is `number` now."""
        if is_whole(tensor):
            self.put(tensor, number)
        else:
            self._parts[storage_key(tensor)].ids[region_of(tensor)] = number

    def see(self, number: int, tensor: Tensor) -> None:
        """Statistics and hash of a value, now."""
        self.seen.add(number)
        if tensor.layout is not torch.strided:
            tensor = dense(tensor)
        self._seen_as[number] = version_of(tensor), None
        if self._recorder.saw(number, tensor):
            return
        values = dense(local(tensor)).detach()
        if values.is_meta:  # a shape without values: DeepSpeed plans with them
            return
        self._seen_as[number] = version_of(tensor), _layout(values)
        self._recorder.saw(number, self._readable(values))

    def differs(self, tensor: Tensor, number: int, trusted: bool) -> bool:
        """Whether a tensor that shows `number` has other values than were seen of it, and no operator wrote them. Not
        `trusted`: only where that is sure, since torch counts what its operators write."""
        same, seen = getattr(self._recorder, "is_same", None), self._seen_as.get(number)
        if same is None or number not in self.seen or tensor.layout is not torch.strided or tensor.is_meta:
            return False
        if not trusted and (seen is None or seen[0] != version_of(tensor)):
            return False
        values = dense(local(tensor)).detach()
        if seen is None or seen[1] is None:
            return same(number, values) is False
        return seen[1] == _layout(values) and same(number, self._readable(values)) is False

    def _readable(self, values: Tensor) -> Tensor:
        """The same in the host's memory, element after element."""
        if values.is_quantized:
            values = values.int_repr()
        if not values.is_contiguous():
            values = values.contiguous()
        if not values.is_cpu:
            values = values.cpu()
        if values.is_neg() or values.is_conj():
            values = values.resolve_neg().resolve_conj()
        return values

    def known(self, tensor: Any) -> Optional[int]:
        """What a tensor shows, if that was met in this iteration."""
        tensor = dense(local(tensor))
        key = storage_key(tensor)
        number = self.ids.get(key)
        if number == PARTS:
            parts = self._parts[key]
            return parts.ids.get(region_of(tensor), parts.last() if parts.written else None)
        return number

    def of(self, tensor: Any, name: str, role: str = "constant", listed: bool = False) -> int:
        """What a tensor shows; where that was not met yet in this iteration it is a source, a parameter's if it is
        one, else by this name. `listed`: one of many; if it is a part of something larger that stands for them all
        (a batch that is stacked from pieces of the data)."""
        tensor = dense(local(tensor))
        key = storage_key(tensor)
        number = self.ids.get(key)
        if number is None:
            number = self.parameter(tensor, key)
        elif number == PARTS:
            number = self._parts[key].ids.get(region_of(tensor))
        if number is not None:
            return number
        if listed and not is_whole(tensor):
            tensor = whole(tensor)
        return self._source(tensor, key, name, role)

    def parameter(self, tensor: Tensor, key: int) -> Optional[int]:
        known = self._names.of_storage(key) or self._names.moved(tensor)
        if known is None:
            return None
        owner = known.tensor()
        value = dense(local(owner))
        if known.dtype is not value.dtype:  # new, or converted in the midst of the training
            known.dtype = value.dtype
            known.source = self._graph.source(known.name, value, "parameter", "",
                                              self._names.may_train(known, bool(owner.requires_grad)))
        self.parameters[known.source] = known
        self.put(value, known.source)
        self.see(known.source, value)
        return known.source

    def _became_parameter(self, tensor: Tensor) -> None:
        """A module has it from now on: what reads it reads a parameter, and not what drew its values in this iteration."""
        if type(tensor) is torch.nn.Parameter and self.ids and is_whole(tensor):
            key = storage_key(tensor)
            if self._graph.roles.get(self.ids.get(key, PARTS)) == "activation":
                del self.ids[key]

    def preload(self) -> None:
        """An iteration begins: it will read the parameters that the one before read."""
        for known in self._before.values():
            owner = known.tensor()
            if owner is not None:
                value = dense(local(owner))
                key = storage_key(value)
                lies = self._names.of_storage(key) or self._names.moved(owner)
                if key not in self.ids and lies is known:
                    self.parameter(value, key)

    def _source(self, tensor: Tensor, key: int, name: str, role: str) -> int:
        frames = self._fresh.get(key, ())
        number = self._graph.source(name, tensor, role, frames=frames)
        again = 1
        while number in self._used:  # the name is another's in this iteration
            again += 1
            number = self._graph.source(f"{name}-{again}", tensor, role, frames=frames)
        self._used.add(number)
        if role == "constant" and tensor.dim() == 0 and tensor.is_floating_point() and tensor.is_cpu and tensor.isinf():
            self._graph.meant[number] = "-" if tensor < 0 else "+"  # a number of the program's, as in x[mask] = -inf
        if key not in self.ids:
            self.hold(tensor)
        if is_whole(tensor):
            self.ids[key] = number
        else:
            self.ids[key] = PARTS
            self._parts.setdefault(key, Parts(None, 0)).ids.setdefault(region_of(tensor), number)
        self._look_at(number, tensor, role)
        return number

    def _look_at(self, number: int, tensor: Tensor, role: str) -> None:
        """Sees a source, unless it is a large constant that is as it was."""
        if role == "constant" and tensor.numel() * tensor.element_size() > _SMALL:
            mark = (tensor.data_ptr(), version_of(tensor))
            if self._constants.get(number) == mark:
                return
            self._constants[number] = mark
        self.see(number, tensor)


def _layout(tensor: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.stride(), tensor.storage_offset()

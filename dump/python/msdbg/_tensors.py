"""What a tensor is to the recorder: the storage that it shows, the part of it that this process has. Needs torch."""

from __future__ import annotations

from typing import Any, Iterator

import torch
from torch import Tensor


def local(tensor: Any) -> Any:
    """What of a DTensor lies here, what a functional collective wraps until somebody waits (such a wrapper has no memory
    that could be read); of other tensors: themselves."""
    inner = getattr(tensor, "_local_tensor", None)
    if inner is None and type(tensor).__name__ == "AsyncCollectiveTensor":
        inner = tensor.elem
    return tensor if inner is None else inner


def version_of(tensor: Tensor) -> int:
    """Counts what operators wrote into it; of what was made in inference mode torch counts nothing."""
    return -1 if tensor.is_inference() else tensor._version


def dense(tensor: Tensor) -> Tensor:
    """What carries the values: of a sparse tensor its values."""
    if tensor.layout is torch.strided:
        return tensor
    if tensor.layout is torch.sparse_coo:
        return tensor._values()
    return tensor.values() if hasattr(tensor, "values") else tensor.to_dense()


def storage_key(tensor: Tensor) -> int:
    """Tells storages apart as long as they live."""
    return storage_of(tensor)._cdata


def whole(tensor: Tensor) -> Tensor:
    """All of the storage that a tensor shows a part of, in the shape of what it is a view of, if that is known."""
    if tensor.layout is not torch.strided:
        return tensor
    base = tensor._base
    if base is not None and is_whole(base):
        return base
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(storage)


def storage_of(tensor: Tensor) -> Any:
    try:
        return tensor.untyped_storage()
    except (RuntimeError, NotImplementedError):
        return dense(tensor).untyped_storage()


def is_whole(tensor: Tensor) -> bool:
    return tensor.numel() * tensor.element_size() >= storage_of(tensor).nbytes()


# Within torch.func (vmap, grad) a tensor stands for many, or for one that is traced: it has no memory of its own. The
# operators that it leads to see what has.
_wrapped = torch._C._functorch.is_functorch_wrapped_tensor


def tensors_in(thing: Any, path: str = "", depth: int = 4) -> Iterator[tuple[str, Tensor]]:
    """Tensors of a batch with the path to each: ("0", x), ("1/labels", y)."""
    if isinstance(thing, Tensor):
        if not _wrapped(thing):
            yield path, thing
    elif depth > 0 and isinstance(thing, dict):
        for key, value in thing.items():
            yield from tensors_in(value, f"{path}/{key}" if path else str(key), depth - 1)
    elif depth > 0 and isinstance(thing, (list, tuple)):
        fields = getattr(thing, "_fields", None)
        for index, value in enumerate(thing):
            key = fields[index] if fields else str(index)
            yield from tensors_in(value, f"{path}/{key}" if path else key, depth - 1)
    elif depth > 0 and hasattr(thing, "__dict__") and not isinstance(thing, (torch.nn.Module, type)):
        for key, value in vars(thing).items():  # dataclasses, BatchEncoding, PackedSequence of old versions
            if isinstance(value, (Tensor, dict, list, tuple)):
                yield from tensors_in(value, f"{path}/{key}" if path else key, depth - 1)


# Types of tensors whose operators compute what they say, on memory of theirs.
PLAIN = (Tensor, torch.nn.Parameter, torch.nn.Buffer) if hasattr(torch.nn, "Buffer") else (Tensor, torch.nn.Parameter)


def all_plain(types: Any) -> bool:
    return all(kind in PLAIN for kind in types)


def any_fake(types: Any) -> bool:
    return any(kind.__name__ in ("FakeTensor", "FunctionalTensor") for kind in types)

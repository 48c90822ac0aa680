"""Names of modules and parameters: "Net/layers/0/attn", "Net/layers/0/attn/weight".

A root is a module that no other one holds; its name is that of its class. What only wraps a module (DDP, FSDP,
torch.compile) has no place in names. Needs torch; one thread at a time.
"""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, Optional

import torch
from torch import nn

from msdbg._mesh import Mesh
from msdbg._tensors import local, storage_key

# Attribute by which a wrapper of torch holds the module that it wraps.
_WRAPPERS = {
    "DistributedDataParallel": "module",
    "DataParallel": "module",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "OptimizedModule": "_orig_mod",
    "CheckpointWrapper": "_checkpoint_wrapped_module",
    "OffloadWrapper": "_checkpoint_wrapped_module",
}


@dataclass
class Parameter:
    """A parameter or buffer of a module, or a tensor that only an optimizer has."""

    name: str  # "Net/fc1/weight"
    scope: str  # "Net/fc1"
    index: int  # among those of its module, from 1
    tensor: Any  # weak reference
    buffer: bool
    source: int = -1  # the recorder's id, once it has one
    dtype: Any = None  # that the source has
    given: bool = False  # to an optimizer


def class_name(module: Any) -> str:
    kind = type(module)
    bases = [base.__name__ for base in kind.__mro__]
    if "FSDPModule" in bases and kind.__name__.startswith("FSDP"):  # fully_shard() made a class of its own
        return kind.__mro__[2].__name__ if kind.__mro__[1].__name__ == "FSDPModule" else kind.__mro__[1].__name__
    return kind.__name__


def unwrapped(module: nn.Module) -> nn.Module:
    """What a wrapper of torch wraps; other modules are themselves."""
    while True:
        inner = module._modules.get(_WRAPPERS.get(type(module).__name__, ""))
        if inner is None or not type(module).__module__.startswith("torch."):
            return module
        module = inner


class Names:
    def __init__(self) -> None:
        self._modules: dict[int, tuple[Any, str, bool]] = {}  # id -> weak reference, path, only wraps another one
        self._roots: dict[str, int] = {}  # class name -> how many
        self._parameters: dict[int, Parameter] = {}  # by id of the tensor
        self._by_storage: dict[int, Parameter] = {}
        self._taken: dict[str, int] = {}
        self._places: set[tuple[str, int]] = set()  # scope and index of all parameters, ever
        self._with_class: set[str] = set()  # paths of modules
        self._new_classes: dict[str, str] = {}  # by path; of those that nobody has asked for yet
        self._given: Optional[bool] = None  # optimizers were given parameters that are known; False: and others
        self.mesh = Mesh()
        self.on_new: Callable[[Any], None] = lambda tensor: None  # told of parameters and buffers that got a name

    def module(self, module: nn.Module) -> str:
        """Path of a module; one that is not known yet, and in none that is, becomes a root."""
        return self.called(module)[0]

    def called(self, module: nn.Module) -> tuple[str, bool]:
        """Path, and whether the module only wraps another one of the same path."""
        known = self._modules.get(id(module))
        if known is None or known[0]() is not module:
            self._root(module)
            known = self._modules[id(module)]
        return known[1], known[2]

    def new_classes(self) -> dict[str, str]:
        """Class names of the modules that were named since the last call, by path."""
        new, self._new_classes = self._new_classes, {}
        return new

    def is_root(self, module: nn.Module) -> bool:
        return "/" not in self.module(module)

    def roots(self) -> list[nn.Module]:
        """Modules that were met, and are in no other one."""
        found = [reference() for reference, path, _ in self._modules.values() if "/" not in path]
        return [module for module in found if module is not None]

    def discover(self, parameters: Iterable[Any]) -> list[nn.Module]:
        """The roots that hold these parameters, found among all objects of the process: once for an optimizer."""
        wanted = {id(parameter) for parameter in parameters}
        modules = [thing for thing in gc.get_objects() if issubclass(type(thing), nn.Module)]
        modules = [module for module in modules if "_modules" in module.__dict__]  # __init__ has begun
        held = {id(child) for module in modules for child in module._modules.values() if child is not None}
        roots = []
        for module in modules:
            if id(module) not in held and any(id(p) in wanted for p in module.parameters()):
                path = self.module(module)
                if any(id(p) in wanted and self.parameter(p) is None for p in module.parameters()):
                    self._walk(module, path)  # it was known, and got other modules since
                roots.append(module)
        return roots

    def parameter(self, tensor: Any) -> Optional[Parameter]:
        """By identity. None: it is of no module that has a name."""
        known = self._parameters.get(id(tensor))
        return known if known is not None and known.tensor() is tensor else None

    def is_replaced(self, known: Parameter) -> bool:
        """The module that it is called after has another parameter of that name now, which is to be trained."""
        root, *path = known.name.split("/")
        module = next((each for each in self.roots() if self.module(each) == root), None)
        for part in path[:-1]:
            module = None if module is None else unwrapped(module)._modules.get(part)
        other = None if module is None or not path else unwrapped(module)._parameters.get(path[-1])
        return other is not None and other is not known.tensor() and other.requires_grad

    def of_storage(self, key: int) -> Optional[Parameter]:
        """The parameter whose values lie there now."""
        known = self._by_storage.get(key)
        if known is not None:
            tensor = known.tensor()
            if tensor is not None and storage_key(local(tensor)) == key:
                return known
            del self._by_storage[key]
        return None

    def moved(self, tensor: Any) -> Optional[Parameter]:
        """A parameter that was met in another storage than before (param.data = ...)."""
        known = self.parameter(tensor)
        if known is not None:
            self._by_storage[storage_key(local(tensor))] = known
        return known

    def loose(self, tensor: Any, optimizer: str, index: int) -> Parameter:
        """A tensor that an optimizer changes and no module holds."""
        return self._add(tensor, optimizer, f"parameter{index}", index + 1, False)

    def given(self, optimizer: Any) -> None:
        """What an optimizer has."""
        for tensor in parameters_of(optimizer):
            known = self.parameter(tensor)
            if known is not None:
                known.given = True
            self._given = known is not None and self._given is not False

    def may_train(self, known: Parameter, requires_grad: bool) -> bool:
        """Whether it is trained, or was meant to be: not a teacher's or a target network's, of which no optimizer was
        given anything and which is read without gradients. Asked where it is read first."""
        left = self._given is True and not known.given and not torch.is_grad_enabled()
        return requires_grad and not known.buffer and not left

    def refresh(self) -> None:
        """Modules got parameters, or these moved (model.to(), lazy modules): look at all of them again."""
        for reference, path, _ in list(self._modules.values()):
            module = reference()
            if module is not None:
                self._tensors_of(module, path)

    def _root(self, module: nn.Module) -> None:
        inner = unwrapped(module)
        known = self._modules.get(id(inner))
        if known is not None and known[0]() is inner:  # wrapped after it was named
            return self._walk(module, known[1])
        held = self._place_of(module)
        if held is not None:
            return self._walk(module, held)
        path = class_name(inner)
        if any(True for _ in inner.parameters()):  # others, losses, may be made again in each iteration: one name
            count = self._roots[path] = self._roots.get(path, 0) + 1
            path = path if count == 1 else f"{path}-{count}"
        self._walk(module, path)

    def _place_of(self, module: nn.Module) -> Optional[str]:
        """Where a module that is known holds it by now: it was put there, or in another one's place, since."""
        for reference, path, wraps in self._modules.values():
            holder = None if wraps else reference()
            for name, child in () if holder is None else holder._modules.items():
                if child is module:
                    return f"{path}/{name}"
        return None

    def _walk(self, module: nn.Module, path: str) -> None:
        for at, name in _modules_below(module, path):
            key = id(at)
            self._modules[key] = (weakref.ref(at, lambda _, key=key: self._gone(key)), name, unwrapped(at) is not at)
            if name not in self._with_class and unwrapped(at) is at:
                self._with_class.add(name)
                self._new_classes[name] = class_name(at)
            self._tensors_of(at, name)

    def _gone(self, key: int) -> None:
        known = self._modules.get(key)
        if known is not None and known[0]() is None:
            del self._modules[key]

    def _tensors_of(self, module: nn.Module, path: str) -> None:
        index = 0
        for buffers, tensors in ((False, module._parameters), (True, module._buffers)):
            for name, tensor in tensors.items():
                index += 1
                if tensor is None or isinstance(tensor, nn.parameter.UninitializedTensorMixin):
                    continue
                known = self.parameter(tensor)
                if known is None:
                    self._add(tensor, path, name, index, buffers)
                else:
                    self._lies(storage_key(local(tensor)), known)

    def _lies(self, key: int, parameter: Parameter) -> None:
        """The first one that lies there and still does has the name."""
        if self.of_storage(key) is None:
            self._by_storage[key] = parameter

    def _add(self, tensor: Any, scope: str, name: str, index: int, buffer: bool) -> Parameter:
        full = f"{scope}/{name}"
        count = self._taken[full] = self._taken.get(full, 0) + 1
        if count > 1:  # another tensor took its place: a name stands for one source
            full = f"{full}-{count}"
        while (scope, index) in self._places:  # the module was exchanged, or pruned: nodes are named by scope and index
            index += 1
        self._places.add((scope, index))
        added = Parameter(full, scope, index, weakref.ref(tensor), buffer)
        self._parameters[id(tensor)] = added
        self.mesh.met(tensor)
        try:
            self._lies(storage_key(local(tensor)), added)
            self.on_new(tensor)
        except (RuntimeError, NotImplementedError):  # no storage of its own (meta, fake)
            pass
        return added


def _modules_below(module: nn.Module, path: str) -> Iterator[tuple[nn.Module, str]]:
    """The module itself and all that it holds; a module that is held twice has its first name."""
    seen: set[int] = set()
    waiting = [(module, path)]
    while waiting:
        at, name = waiting.pop()
        if id(at) in seen:
            continue
        seen.add(id(at))
        yield at, name
        transparent = unwrapped(at)
        if transparent is not at:
            inner = at._modules[_WRAPPERS[type(at).__name__]]
            waiting.append((inner, name))
            continue
        children = [(child, f"{name}/{key}") for key, child in at._modules.items() if child is not None]
        waiting.extend(reversed(children))


def parameters_of(optimizer: Any) -> list[torch.Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]

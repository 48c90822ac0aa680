"""A recording with a Follower, of tensors that are objects with what the extension asks of torch's, and of operators that
are functions. Needs the built extension and no torch."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Optional, Tuple

import stream


class Storage:
    """What an untyped storage has of torch's."""

    def __init__(self, key: int) -> None:
        self._cdata = key

    def _weak_ref(self) -> int:
        return self._cdata


class Tensor(stream.Fake):
    made = 0

    def __init__(self, dtype: str = "torch.float32", shape: Tuple[int, ...] = (2, 3), seed: int = 1) -> None:
        super().__init__(dtype, list(shape), seed)
        Tensor.made += 1
        self.storage = Storage(1_000_000 + Tensor.made)

    def untyped_storage(self) -> Storage:
        return self.storage


class Other(Tensor):
    """A subclass: not plain."""


DTYPE = "torch.float32"  # one object: dtypes are compared by identity, as torch's are


def relu(x: Any) -> Tensor:
    return Tensor(DTYPE)


def double(x: Any) -> Tensor:
    return Tensor("torch.float64")


def fails(x: Any) -> Any:
    raise ZeroDivisionError("in the operator")


def add_(x: Any, y: Any) -> Any:
    return x


class Bench:
    """A recording with the nodes relu-op1 (reads x), then add_-op1 (writes what relu made), and a Follower of them.
    `went` has what was not the extension's: "slow", or "late"."""

    def __init__(self, module: Any, run: str) -> None:
        self.module = module
        self.recording = module.open(json.dumps({
            "run": run, "rank": 0, "ranks": 1, "command": ["t.py"], "program": "t.py", "launcher": False, "run_id": "",
            "create": True, "libraries": {}, "backend": "none", "level": "ops", "seed": 0, "threads": 1}))
        output = ((DTYPE, (2, 3), "activation", "", -1, -1),)
        self.x = self.recording.source("x", DTYPE, (2, 3), "input", "", False, ())
        self.relu, (self.y,) = self.recording.node("Net/relu-op1", "aten", "relu", "forward", (self.x,), output, {}, (), -1)
        self.add, (self.z,) = self.recording.node("Net/add_-op1", "aten", "add_", "forward", (self.y, self.x), output, {},
                                                  (), -1)
        self.ids: Dict[int, int] = {}
        self.held: List[Any] = []
        self.counts = [0, 0]
        self.seen: set = set()
        self.number, self.task = 5, -1
        self.went: List[Any] = []
        self.scope, self.elsewhere = object(), object()
        self.origin = self.elsewhere  # of the autograd node that runs
        self.first = self.step(None, None, -1, 0, 0, (), (), (), ())
        self.follower = module.Follower(
            recording=self.recording, plain=(Tensor,), ids=self.ids, held=self.held, counts=self.counts,
            seen=self.seen, number=lambda: self.number, task=lambda: self.task, slow=self._slow, late=self._late,
            view=lambda args: self.went.append("view"),
            own=lambda number, owner: self.went.append(("own", number, owner)), see=lambda tensor, value: None,
            outside=lambda: self.scope,
            doubt=lambda entry, args, kwargs: self.went.append(("doubt", entry)), origin=lambda: self.origin, first=self.first)
        self.follower.scope = self.scope
        self.follower.seen_number = self.number
        self.iteration = 0

    def step(self, entry: Any, function: Any, node: int, slot: int, number: int, reads: Any, writes: Any, outputs: Any,
             dtypes: Any, place: Any = None, forward: bool = True) -> Any:
        return self.module.Step(entry, function, self.scope, place, node, slot, number, True, forward, reads, writes,
                                outputs, dtypes)

    def _slow(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self.went.append("slow")
        return function(*args, **(kwargs or {}))

    def _late(self, entry: Any, args: Any, kwargs: Any, out: Any, error: Optional[BaseException]) -> None:
        self.went.append(("late", entry, error))

    def learn(self, place: Any = None, relu_: Callable[..., Any] = relu) -> None:
        """The chain first, relu, add_ is what is expected from now on."""
        one = self.step("relu", relu_, self.relu, 0, 1, ((0, -1, self.x),), (), (self.y,), (DTYPE,), place)
        two = self.step("add_", add_, self.add, 1, 1, ((0, -1, self.y), (1, -1, self.x)), ((0, -1, -1),), (self.z,),
                        (DTYPE,))
        self.follower.restart(self.first)
        self.follower.arrived(one)
        self.follower.arrived(two)

    def begin(self) -> Tensor:
        """An iteration; what it reads."""
        self.recording.begin(self.iteration)
        self.iteration += 1
        self.ids.clear()
        self.held.clear()
        self.seen.clear()
        self.counts[:] = [0, 0]
        self.follower.restart(self.first)
        self.follower.enabled = True
        x = Tensor(DTYPE)
        self.ids[x.storage._cdata] = self.x
        return x

    def call(self, function: Any, *args: Any, types: Any = (Tensor,), kwargs: Any = None) -> Any:
        return self.follower(function, types, args, kwargs)

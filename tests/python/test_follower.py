"""The extension's Follower and Step without torch: tensors are objects that have what it asks of them, operators are
functions. A step is run by the extension while the program does what it did, else it is `slow`'s."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Callable, Dict, List, Optional, Tuple

import built
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
        self.first = self.step(None, None, -1, 0, 0, (), (), (), ())
        self.follower = module.Follower(
            self.recording, (Tensor,), self.ids, self.held, self.counts, self.seen, lambda: self.number,
            lambda: self.task, self._slow, self._late, lambda args: self.went.append("view"),
            lambda number, owner: self.went.append(("own", number, owner)), lambda tensor, value: None,
            lambda: self.scope, self.first)
        self.follower.scope = self.scope
        self.follower.seen_number = self.number
        self.iteration = 0

    def step(self, entry: Any, function: Any, node: int, slot: int, number: int, reads: Any, writes: Any, outputs: Any,
             dtypes: Any, place: Any = None, simple: bool = True) -> Any:
        return self.module.Step(entry, function, self.scope, place, node, slot, number, simple, True, reads, writes,
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


class Follower(unittest.TestCase):
    def setUp(self) -> None:
        if built.missing():
            self.skipTest(built.missing())
        folder = tempfile.mkdtemp(prefix="msdbg_follower_")
        self.addCleanup(shutil.rmtree, folder)
        self.run_folder = os.path.join(folder, "run.msdbg")
        self.bench = Bench(built.extension(), self.run_folder)
        self.addCleanup(self.bench.recording.finish, "finished", "", 0)
        self.bench.learn()

    def one_more(self, relu_: Any = relu, **how: Any) -> List[Any]:
        """Where an iteration's relu went."""
        bench = self.bench
        x = bench.begin()
        bench.went.clear()
        bench.call(relu_, x, **how)
        return bench.went

    def test_what_comes_as_it_came_before_runs_without_python(self) -> None:
        bench = self.bench
        for _ in range(3):
            x = bench.begin()
            y = bench.call(relu, x)
            self.assertEqual(bench.ids[y.storage._cdata], bench.y)
            self.assertIs(bench.call(add_, y, x), y)
            self.assertEqual(bench.ids[y.storage._cdata], bench.z)  # it was written
            self.assertEqual((bench.counts, bench.seen), ([1, 1], {bench.y, bench.z}))
            self.assertEqual(bench.held, [y.storage._cdata])
            bench.recording.end({"loss": 1.0})
        self.assertEqual(bench.went, [])
        self.assertEqual(bench.follower.last.entry, "add_")
        bench.recording.finish("finished", "", 0)
        info = subprocess.run([built.MSDBG, "info", "--json", self.run_folder], capture_output=True, check=True)
        self.assertEqual(json.loads(info.stdout)["ranks"][0]["count"], 3)

    def test_an_autograd_node_that_it_made_is_told(self) -> None:
        x = self.bench.begin()
        self.bench.number = 6
        self.bench.call(relu, x)
        self.assertEqual(self.bench.went, [("own", 5, "relu")])
        self.assertEqual(self.bench.follower.seen_number, 6)

    def test_another_function_input_or_count_is_the_slow_way(self) -> None:
        self.assertEqual(self.one_more(double), ["slow"])
        self.bench.recording.end({})
        x = self.bench.begin()
        self.bench.ids[x.storage._cdata] = self.bench.y
        self.bench.went.clear()
        self.bench.call(relu, x)
        self.bench.call(relu, Tensor())  # which nobody knows
        self.bench.call(relu, None)
        self.bench.ids[x.storage._cdata] = self.bench.x
        self.bench.counts[0] = 1
        self.bench.call(relu, x)
        self.assertEqual(self.bench.went, ["slow"] * 4)

    def test_another_scope_task_or_type_is_the_slow_way(self) -> None:
        bench = self.bench
        bench.follower.scope = bench.elsewhere
        self.assertEqual(self.one_more(), ["slow"])
        bench.recording.end({})
        bench.follower.scope = None  # in the script itself: outside() tells
        self.assertEqual(self.one_more(), [])
        bench.recording.end({})
        bench.task = 3  # autograd runs
        self.assertEqual(self.one_more(), ["slow"])
        bench.recording.end({})
        bench.task = -1
        bench.follower.in_backward = True
        self.assertEqual(self.one_more(), ["slow"])
        bench.recording.end({})
        bench.follower.in_backward = False
        self.assertEqual(self.one_more(types=(Tensor, Other)), ["slow"])

    def test_where_it_is_not_enabled_all_is_slow(self) -> None:
        x = self.bench.begin()
        self.bench.follower.enabled = False
        self.bench.call(relu, x)
        self.assertEqual(self.bench.went, ["slow"])

    def test_another_place_is_the_slow_way(self) -> None:
        bench = self.bench

        def mode(function: Any, x: Any) -> Any:  # stands where torch's dispatch is: its caller is the place
            return bench.call(function, x)

        def here(x: Any) -> Any:
            return mode(relu, x)

        bench.learn((id(here.__code__), 10**6))
        x = bench.begin()
        here(x)
        self.assertEqual(bench.went, ["slow"])

    def test_what_it_made_of_another_dtype_or_number_is_given_late(self) -> None:
        bench = self.bench
        bench.learn(relu_=double)
        self.assertEqual(self.one_more(double), [("late", "relu", None)])
        bench.recording.end({})
        pair: Callable[..., Any] = lambda x: (Tensor(DTYPE), Tensor(DTYPE))
        bench.learn(relu_=pair)
        self.assertEqual(self.one_more(pair), [("late", "relu", None)])
        bench.recording.end({})
        nothing: Callable[..., Any] = lambda x: None
        bench.learn(relu_=nothing)
        self.assertEqual(self.one_more(nothing), [("late", "relu", None)])

    def test_what_the_recorder_refuses_is_given_late_and_the_program_has_its_value(self) -> None:
        bench = self.bench
        x = bench.begin()
        bench.recording.ran(bench.relu)
        self.assertIsInstance(bench.call(relu, x), Tensor)
        [(late, entry, error)] = bench.went
        self.assertEqual((late, entry, type(error)), ("late", "relu", RuntimeError))
        self.assertIn("Net/relu-op1 ran already", str(error))

    def test_an_exception_of_the_operator_is_the_program_s(self) -> None:
        self.bench.learn(relu_=fails)
        x = self.bench.begin()
        with self.assertRaisesRegex(ZeroDivisionError, "in the operator"):
            self.bench.call(fails, x)
        with self.assertRaisesRegex(ZeroDivisionError, "in the operator"):
            self.bench.call(fails, Tensor())  # by the slow way
        self.assertEqual(self.bench.went, ["slow"])

    def test_functions_that_only_make_views_run_with_no_word(self) -> None:
        view: Callable[..., Any] = lambda x: x
        self.bench.follower.fold(view)
        x = self.bench.begin()
        self.assertIs(self.bench.call(view, x), x)
        self.assertEqual(self.bench.went, [])
        self.bench.number += 1  # autograd has a node of it
        self.bench.call(view, x)
        self.assertEqual(self.bench.went, ["view"])

    def test_ten_thousand_steps_keep_no_reference(self) -> None:
        bench = self.bench

        def iterate() -> None:
            x = bench.begin()
            y = bench.call(relu, x)
            bench.call(add_, y, x)
            bench.call(double, x)  # slow
            bench.went.clear()
            bench.recording.end({})

        for _ in range(2000):  # until what is made once was made
            iterate()
        watched = (relu, add_, double, bench.scope, bench.first, bench.follower, Tensor, Storage, None, DTYPE, "relu",
                   bench._slow.__func__, bench.recording)
        gc.collect()
        before = [sys.getrefcount(thing) for thing in watched]
        for _ in range(5000):
            iterate()
        gc.collect()
        after = [sys.getrefcount(thing) for thing in watched]
        for thing, one, other in zip(watched, before, after):
            self.assertLess(abs(other - one), 50, repr(thing))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])

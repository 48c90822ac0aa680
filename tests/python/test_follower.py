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
from typing import Any, Callable, List

import built
from follower_bench import DTYPE, Bench, Other, Storage, Tensor, add_, double, fails, relu


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

    def test_a_backward_step_of_another_operator_is_the_slow_way_once_the_iteration_is_another(self) -> None:
        bench = self.bench
        step = bench.step("relu", relu, bench.relu, 0, 1, ((0, -1, bench.x),), (), (bench.y,), (DTYPE,), forward=False)
        bench.follower.restart(bench.first)
        bench.follower.arrived(step)
        bench.task = 3
        self.assertEqual(self.one_more(), [])  # all is as it was: nobody asks
        bench.recording.end({})
        self.assertEqual(self.after_a_change(step), ["slow"])
        bench.origin = bench.scope
        self.assertEqual(self.after_a_change(step), [])

    def after_a_change(self, step: Any) -> List[Any]:
        """Where `step` goes after something that did not come in the iteration before."""
        bench = self.bench
        new = bench.step("new", double, bench.add, 1, 1, (), (), (bench.z,), (DTYPE,))
        new.next = step
        x = bench.begin()
        bench.went.clear()
        bench.follower.arrived(new)
        bench.call(relu, x)
        bench.recording.end({})
        return bench.went

    def test_a_step_whose_node_reads_something_else_by_now_is_not_run(self) -> None:
        self.bench.first.next.simple = False
        self.assertEqual(self.one_more(), ["slow"])

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

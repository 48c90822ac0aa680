"""Requests of `msdbg arm`, as the recorder follows them: no torch, no msdbg program."""
from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dump" / "python"))

from msdbg import _arm  # noqa: E402


class Requests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="msdbg_arm_")
        self.addCleanup(folder.cleanup)
        self.run_folder = Path(folder.name)
        self.armed = _arm.Armed(folder.name, "train")

    def ask(self, level: str, *ranges: list) -> None:
        self.put(json.dumps({"schema": "msdbg.arm/1",
                             "ranges": [{"level": level, "first": first, "last": last}
                                        for first, last in ranges]}))

    def put(self, text: str) -> None:
        (self.run_folder / "arm.new").write_text(text)
        os.rename(self.run_folder / "arm.new", self.run_folder / "arm.json")

    def levels(self, first: int, last: int) -> str:
        """The first letter of each iteration's level."""
        return "".join(self.armed.level(iteration)[0] for iteration in range(first, last + 1))

    def warned(self, first: int, last: int) -> tuple:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            levels = self.levels(first, last)
        return levels, said.getvalue()

    def test_nobody_asks(self) -> None:
        self.assertEqual(self.levels(0, 3), "tttt")

    def test_both_ends_are_included_and_afterwards_all_is_as_before(self) -> None:
        self.levels(0, 2)
        self.ask("ops", [5, 6], [9, 9])
        self.assertEqual(self.levels(3, 11), "ttoottott")

    def test_a_new_request_replaces_the_one_before_and_an_empty_one_takes_it_back(self) -> None:
        self.ask("ops", [2, 9])
        self.assertEqual(self.levels(0, 3), "ttoo")
        self.ask("modules", [6, 7])
        self.assertEqual(self.levels(4, 6), "ttm")
        self.ask("modules")
        self.assertEqual(self.levels(7, 8), "tt")

    def test_a_range_that_goes_on_in_the_new_request_goes_on(self) -> None:
        self.ask("ops", [2, 5])
        self.assertEqual(self.levels(0, 3), "ttoo")
        self.ask("ops", [2, 5], [8, 8])
        self.assertEqual(self.warned(4, 8), ("ootto", ""))

    def test_a_range_that_has_begun_is_left_out_by_who_sees_it_late(self) -> None:
        self.levels(0, 4)
        self.ask("ops", [4, 7], [9, 10])
        levels, said = self.warned(5, 10)
        self.assertEqual(levels, "ttttoo")
        self.assertIn("iterations 4-7 were asked for at level ops (msdbg arm) when iteration 5 had", said)
        self.assertIn("ask again with a larger --margin", said)

    def test_one_that_begins_now_is_in_time(self) -> None:
        self.levels(0, 4)
        self.ask("ops", [5, 5])
        self.assertEqual(self.warned(5, 6), ("ot", ""))

    def test_the_file_is_gone(self) -> None:
        self.ask("ops", [1, 9])
        self.assertEqual(self.levels(0, 2), "too")
        (self.run_folder / "arm.json").unlink()
        self.assertEqual(self.levels(3, 4), "tt")

    def test_what_is_no_request_is_said_once_and_not_followed(self) -> None:
        def one(**wrong: object) -> str:
            row = {"level": "ops", "first": 1, "last": 2, **wrong}
            return json.dumps({"schema": "msdbg.arm/1", "ranges": [row]})

        for text, why in (("{", "Expecting"), ("[]", "schema"), ('{"schema": "msdbg.arm/2"}', "schema"),
                          ('{"schema": "msdbg.arm/1"}', "no ranges"),
                          (one(level="deep"), "level 'deep' is none of"),
                          (one(first=3, last=2), "3 to 2 are no iterations"),
                          (one(last=True), "are no iterations"), (one(first=None), "are no iterations")):
            self.put(text)
            levels, said = self.warned(0, 3)
            self.assertEqual(levels, "tttt")
            self.assertEqual(said.count("warning"), 1, said)
            self.assertIn(why, said)
            self.assertIn("arm.json", said)

    def test_it_costs_little(self) -> None:
        import timeit
        self.ask("ops", [5, 6])
        self.levels(0, 1)
        self.assertLess(min(timeit.repeat(lambda: self.armed.level(2), number=1000, repeat=5)) / 1000, 20e-6)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])

"""Which step of an optimizer ends an iteration. Without torch."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Dict

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dump" / "python"))
from msdbg._cycle import Cycle  # noqa: E402: from the sources


class Optimizer:
    pass


class Steps(unittest.TestCase):
    """Of optimizers with names of one letter; a small letter makes the one of the capital."""

    def ends(self, steps: str) -> str:
        """The same steps, with a bar after each that ends an iteration."""
        cycle, made, said = Cycle(), {}, ""  # type: Cycle, Dict[str, Optimizer], str
        for name in steps:
            if name.islower():
                made[name.upper()] = Optimizer()
                cycle.created(made[name.upper()])
                continue
            said += name
            if cycle.stepped(made[name]):
                cycle.ended()
                said += "|"
        return said

    def test_each_step_of_one_and_every_round_of_several(self) -> None:
        self.assertEqual(self.ends("aAAA"), "A|A|A|")
        self.assertEqual(self.ends("dgDGDG"), "DG|DG|")
        self.assertEqual(self.ends("dgDDDDDGDDDDDG"), "DDDDDG|DDDDDG|")

    def test_one_that_steps_by_another_is_not_waited_for(self) -> None:
        cycle, base, wrapper = Cycle(), Optimizer(), Optimizer()
        base.param_groups = wrapper.param_groups = [{}]  # type: ignore[attr-defined]
        cycle.created(wrapper)
        cycle.created(base)
        for _ in range(3):
            self.assertTrue(cycle.stepped(base))
            cycle.ended()

    def test_one_that_never_steps_is_waited_for_once(self) -> None:
        self.assertEqual(self.ends("ab" + "A" * 10), "AAAAAAAA|A|A|")

    def test_one_that_takes_over_ends_iterations_of_its_own(self) -> None:
        self.assertEqual(self.ends("tTTTsSSSS"), "T|T|T|S|S|S|S|")
        self.assertEqual(self.ends("ab" + "A" * 10 + "BBB"), "AAAAAAAA|A|A|B|B|B|")

    def test_one_that_joins_takes_turns_with_the_others(self) -> None:
        self.assertEqual(self.ends("aAAbABAB"), "A|A|AB|AB|")  # made, and steps after
        self.assertEqual(self.ends("aAAbBABABA"), "A|A|B|AB|AB|A")  # or before: of the first round only
        self.assertEqual(self.ends("dg" + "D" * 9 + "DGDGDG"), "DDDDDDDD|D|D|G|DG|DG|")

    def test_one_that_steps_within_another_is_not_waited_for(self) -> None:
        cycle, outer, inner = Cycle(), Optimizer(), Optimizer()
        cycle.created(outer)
        cycle.created(inner)
        cycle.inner(inner)
        self.assertTrue(cycle.stepped(outer))

    def test_what_is_gone_is_not_waited_for(self) -> None:
        cycle, first, second = Cycle(), Optimizer(), Optimizer()
        cycle.created(first)
        cycle.created(second)
        self.assertFalse(cycle.stepped(first))
        del second
        self.assertTrue(cycle.stepped(first))


if __name__ == "__main__":
    unittest.main()

"""When a loss or a norm of gradients asks for level ops. Without torch."""
from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dump" / "python"))
from msdbg import _arm, _spikes  # noqa: E402: from the sources


class OneSeries(unittest.TestCase):
    def odd(self, numbers: List[float], floor: float = 0.02) -> List[int]:
        series = _spikes.Series(floor)
        return [place for place, number in enumerate(numbers) if series.odd(number)]

    def test_what_jumps_above_the_rest_is_odd_and_what_wanders_is_not(self) -> None:
        steady = [1 + 0.01 * (i % 7) for i in range(60)]
        self.assertEqual(self.odd(steady), [])
        self.assertEqual(self.odd(steady + [9.0] + steady), [60])
        self.assertEqual(self.odd([1 + 0.1 * i for i in range(60)]), [])  # it grows, slowly

    def test_few_numbers_tell_nothing_but_nan_does(self) -> None:
        self.assertEqual(self.odd([1.0] * 10 + [50.0]), [])
        self.assertEqual(self.odd([1.0, float("nan"), float("inf"), -float("inf")]), [1, 2, 3])

    def test_of_few_numbers_one_that_is_a_hundred_times_the_largest_is_odd(self) -> None:
        self.assertEqual(self.odd([1.0] * 6 + [150.0] + [1.0] * 5 + [1e6, 1.0]), [6, 12])
        self.assertEqual(self.odd([1.0] * 4 + [150.0]), [])
        self.assertEqual(self.odd([0.0] * 6 + [1.0]), [])

    def test_what_is_next_to_nothing_has_no_spikes(self) -> None:
        self.assertEqual(self.odd([2.0] + [1e-6] * 40 + [4e-6]), [])

    def test_equal_numbers_have_a_floor_of_their_own(self) -> None:
        self.assertEqual(self.odd([1.0] * 30 + [1.1]), [])
        self.assertEqual(self.odd([1.0] * 30 + [1.2]), [30])
        self.assertEqual(self.odd([1.0] * 30 + [2.5], floor=0.25), [])

    def test_what_a_tenth_of_the_last_numbers_reach_is_another_level_and_odd_no_more(self) -> None:
        self.assertEqual(self.odd([1.0] * 300 + [2.0] * 250 + [2.2]), list(range(300, 320)))
        self.assertEqual(self.odd([1.0] * 300 + [2.0] * 250 + [9.0]), [*range(300, 320), 550])


class Asking(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_folder = folder.name

    def told(self, spikes: _spikes.Spikes, iteration: int, loss: float) -> str:
        with contextlib.redirect_stderr(io.StringIO()) as text:
            spikes.ended(iteration, {"loss": loss})
        return text.getvalue()

    def ranges(self) -> list:
        file = Path(self.run_folder) / "arm.json"
        return _arm.parse(file.read_text()) if file.exists() else []

    def test_alone_the_very_next_iteration_is_the_first(self) -> None:
        self.assertIn("iterations 8-10 are recorded", self.told(_spikes.Spikes(self.run_folder, 1), 7, float("nan")))

    def test_the_next_iterations_are_asked_for_once(self) -> None:
        spikes = _spikes.Spikes(self.run_folder, 2)
        self.assertEqual(self.told(spikes, 6, 1.0), "")
        text = self.told(spikes, 7, float("nan"))
        self.assertIn("the loss is not finite in iteration 7: iterations 10-12 are recorded at level ops", text)
        self.assertEqual(self.ranges(), [(10, 12, "ops")])
        self.assertEqual(self.told(spikes, 8, float("nan")), "")
        self.assertEqual(self.ranges(), [(10, 12, "ops")])

    def test_what_another_rank_or_a_person_asked_for_stays(self) -> None:
        asked = {"schema": "msdbg.arm/1", "ranges": [{"level": "modules", "first": 9, "last": 20}]}
        (Path(self.run_folder) / "arm.json").write_text(json.dumps(asked))
        self.assertEqual(self.told(_spikes.Spikes(self.run_folder, 2), 7, float("nan")), "")
        self.assertEqual(self.ranges(), [(9, 20, "modules")])


if __name__ == "__main__":
    unittest.main()

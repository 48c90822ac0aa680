"""Which folder a program that is started again records into: no torch, no msdbg program."""
from __future__ import annotations

import fcntl
import json
import os
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dump" / "python"))

from msdbg import _attempts  # noqa: E402

ID = "0123456789abcdef0123456789abffff"


class Attempts(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="msdbg_attempts_")
        self.addCleanup(folder.cleanup)
        self.run_folder = os.path.join(folder.name, "night.msdbg")
        self.make(self.run_folder, ID)
        cleared = {name: "" for name in ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT")}
        environment = mock.patch.dict(os.environ, cleared)
        environment.start()
        self.addCleanup(environment.stop)

    def make(self, run: str, run_id: str) -> None:
        os.makedirs(run, exist_ok=True)
        Path(run, "run.json").write_text(json.dumps({"id": run_id}))

    def record(self, run: str, rank: int, end: str = "") -> Path:
        """A journal as a recorder leaves it."""
        os.makedirs(os.path.join(run, f"rank_{rank}"))
        journal = Path(run, f"rank_{rank}", "journal")
        last = json.dumps({"end": {"state": end}}) if end else "{}"
        journal.write_text('{"journal": "msdbg"}\n' + last + "\n")
        return journal

    def find(self, rank: int = 0, restarts_only: bool = False) -> _attempts.Attempt:
        return _attempts.find(self.run_folder, rank, restarts_only)

    def number(self, rank: int = 0) -> int:
        return self.find(rank).number

    def test_nothing_was_recorded_yet(self) -> None:
        self.assertEqual(self.find(), _attempts.Attempt(self.run_folder, 1, ""))

    def test_what_was_recorded_is_followed_by_a_folder_beside_it(self) -> None:
        for end in ("", "failed", "finished"):
            with self.subTest(end=end):
                self.setUp()
                self.record(self.run_folder, 0, end)
                found = self.find()
                self.assertEqual((found.number, found.makes), (2, True))
                self.assertEqual(os.path.basename(found.run), "night-attempt2.msdbg")
                self.assertEqual(found.run_id, ID[:-4] + "0000")  # the last digits count on

    def test_the_third_follows_the_second(self) -> None:
        self.record(self.run_folder, 0)
        self.make(self.find().run, _attempts.id_of_attempt(ID, 2))
        self.assertEqual(self.find(), _attempts.Attempt(self.find().run, 2, ID[:-4] + "0000"))
        self.record(self.find().run, 0)
        self.assertEqual(self.number(), 3)

    def test_one_that_is_still_recorded_is_no_other_attempt(self) -> None:
        with open(self.record(self.run_folder, 0), "rb") as journal:
            fcntl.flock(journal, fcntl.LOCK_EX)
            self.assertEqual(self.number(), 1)
        self.assertEqual(self.number(), 2)

    def test_a_rank_that_recorded_nothing_before_goes_where_the_others_go(self) -> None:
        self.record(self.run_folder, 0)
        self.assertEqual(self.number(rank=1), 1)  # it only begins late
        with mock.patch.dict(os.environ, TORCHELASTIC_RESTART_COUNT="1"):
            self.assertEqual(self.number(rank=1), 2)

    def test_one_that_begins_when_another_has_finished_belongs_to_it(self) -> None:
        self.record(self.run_folder, 0, "finished")
        with mock.patch.dict(os.environ, TORCHELASTIC_RESTART_COUNT="1"):
            self.assertEqual(self.number(rank=1), 1)

    def test_without_a_launcher_only_what_was_started_again_has_attempts(self) -> None:
        self.record(self.run_folder, 0)
        self.assertEqual(self.find(restarts_only=True).number, 1)
        with mock.patch.dict(os.environ, SLURM_RESTART_COUNT="1"):
            self.assertEqual(self.find(restarts_only=True).number, 2)

    def test_a_folder_of_another_run_is_passed_over(self) -> None:
        self.record(self.run_folder, 0)
        self.make(_attempts.folder(self.run_folder, 2), "f" * 32)
        self.assertEqual(self.number(), 3)

    def test_all_ranks_find_the_same_folder_and_one_of_them_makes_it(self) -> None:
        for rank in range(6):
            self.record(self.run_folder, rank, "failed")
        found: list = []

        def rank_begins(rank: int) -> None:
            attempt = self.find(rank)
            if attempt.makes:
                time.sleep(0.1)  # what it takes to write run.json, under another name first
                begun = Path(attempt.run, "run.json.part")
                begun.write_text(json.dumps({"id": attempt.run_id}))
                time.sleep(0.1)
                begun.rename(Path(attempt.run, "run.json"))
            found.append(attempt)

        ranks = [threading.Thread(target=rank_begins, args=(rank,)) for rank in range(6)]
        for thread in ranks:
            thread.start()
        for thread in ranks:
            thread.join()
        self.assertEqual({(attempt.number, attempt.run_id) for attempt in found}, {(2, ID[:-4] + "0000")})
        self.assertEqual([attempt.makes for attempt in found].count(True), 1)

    def test_a_folder_with_something_else_in_it_is_passed_over(self) -> None:
        self.record(self.run_folder, 0)
        other = Path(_attempts.folder(self.run_folder, 2))
        other.mkdir()
        Path(other, "notes.txt").write_text("not a run")
        with mock.patch.object(_attempts, "_GRACE", 0.05):
            self.assertEqual(self.number(), 3)

    def test_a_folder_that_stays_empty_is_an_error(self) -> None:
        self.record(self.run_folder, 0)
        os.mkdir(_attempts.folder(self.run_folder, 2))
        with mock.patch.object(_attempts, "_PATIENCE", 0.05):
            self.assertRaisesRegex(RuntimeError, "night-attempt2.msdbg is empty", self.find)


if __name__ == "__main__":
    unittest.main()

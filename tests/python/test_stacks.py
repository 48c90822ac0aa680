"""Where a process is, as `msdbg stacks` is told: no torch, no msdbg program."""
from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import types
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dump" / "python"))

from msdbg import _stacks  # noqa: E402


def waits_here(begun: threading.Event, over: threading.Event) -> None:
    begun.set()
    over.wait()


class Answers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="msdbg_stacks_")
        self.addCleanup(folder.cleanup)
        self.stacks = Path(folder.name) / "stacks"
        self.stacks.mkdir()
        self.recording = types.SimpleNamespace(
            settings=types.SimpleNamespace(run=folder.name), recorder=object(), iteration=41237, over=False)
        self.thread = _stacks.Stacks(self.recording)

    def answer(self) -> dict:
        return json.loads((self.stacks / "rank_0.json").read_text())

    def test_every_thread_is_told_with_its_lines(self) -> None:
        begun, over = threading.Event(), threading.Event()
        other = threading.Thread(target=waits_here, args=(begun, over), name="loader")
        other.start()
        begun.wait()
        _stacks.answer(str(self.stacks), 7, 41237)
        over.set()
        other.join()
        told = self.answer()
        self.assertEqual((told["request"], told["rank"], told["pid"], told["iteration"]), (7, 0, os.getpid(), 41237))
        threads = {thread["name"]: thread["frames"] for thread in told["threads"]}
        own = [frame for frame in threads["loader"] if frame["own"]]
        self.assertEqual([(os.path.basename(f["file"]), f["function"], f["code"]) for f in own],
                         [("test_stacks.py", "waits_here", "over.wait()")])
        self.assertFalse(threads["loader"][0]["own"])  # in threading.py, which waits
        self.assertEqual(os.listdir(self.stacks), ["rank_0.json"])

    def test_a_request_is_answered_once_and_the_next_one_again(self) -> None:
        self.thread._look()
        self.assertEqual(os.listdir(self.stacks), [])
        (self.stacks / "wanted").write_text("12\n")
        self.thread._look()
        self.assertEqual(self.answer()["request"], 12)
        os.remove(self.stacks / "rank_0.json")
        self.thread._look()
        self.assertFalse((self.stacks / "rank_0.json").exists())
        (self.stacks / "wanted").write_text("13")
        self.thread._look()
        self.assertEqual(self.answer()["request"], 13)

    def test_a_process_that_trains_nothing_does_not_answer(self) -> None:
        self.recording.recorder, self.recording.cycle = None, types.SimpleNamespace(any=lambda: False)
        (self.stacks / "wanted").write_text("12")
        self.thread._look()
        self.assertEqual(os.listdir(self.stacks), ["wanted"])

    def test_nonsense_and_a_folder_that_goes_away_end_nothing(self) -> None:
        (self.stacks / "wanted").write_text("soon")
        self.assertRaises(ValueError, self.thread._look)  # which run() outlives
        (self.stacks / "wanted").unlink()
        self.stacks.rmdir()
        self.thread._look()


if __name__ == "__main__":
    unittest.main()

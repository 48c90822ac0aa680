"""msdbg.open(): what it makes of the program's answers. The program is a script here; NumPy is not needed."""
from __future__ import annotations

import json
import os
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dump" / "python"))
from msdbg import _reading  # noqa: E402


class Tensor(unittest.TestCase):
    def tensor(self, computed: object) -> object:
        """What Run.tensor() gives where `msdbg show --json` says this of how the value was computed."""
        with tempfile.TemporaryDirectory(prefix="msdbg_reading_") as folder:
            program, answer = Path(folder, "msdbg"), Path(folder, "answer.json")
            answer.write_text(json.dumps({"computed": computed}))
            program.write_text(f"#!/bin/sh\ncat '{answer}'\nexit {3 if computed else 0}\n")
            program.chmod(0o755)
            numpy = types.SimpleNamespace(load=lambda file, allow_pickle: "the values")
            with mock.patch.dict(os.environ, MSDBG_PROGRAM=str(program)), mock.patch.dict(sys.modules, numpy=numpy):
                return _reading.Run(folder).tensor("fc/weight", iteration=9)

    def test_what_is_recorded_or_has_the_recorded_hash_is_given(self) -> None:
        self.assertEqual(self.tensor(None), "the values")
        self.assertEqual(self.tensor({"evidence": "recorded_hash", "different_since": None}), "the values")
        self.assertEqual(self.tensor({"evidence": "none", "different_since": None}), "the values")

    def test_what_training_did_not_have_is_refused_with_since_where(self) -> None:
        since = {"tensor": "grad(fc/weight)", "iteration": 7, "rank": 1}
        for evidence in ("other_hash", "made_of_other_hash"):
            with self.subTest(evidence=evidence):
                with self.assertRaisesRegex(_reading.MsdbgError, r"grad\(fc/weight\) of iteration 7, rank 1"):
                    self.tensor({"evidence": evidence, "different_since": since})
        with self.assertRaisesRegex(_reading.MsdbgError, "some tensor of iteration 7"):
            self.tensor({"evidence": "made_of_other_hash", "different_since": dict(since, tensor=None)})


if __name__ == "__main__":
    unittest.main()

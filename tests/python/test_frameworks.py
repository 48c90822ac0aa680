"""Frameworks that nobody has tried are named where they are at work: no torch, no framework."""
from __future__ import annotations

import importlib.machinery
import sys
import types
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dump" / "python"))

from msdbg import _frameworks  # noqa: E402


def package(name: str, version: str = "") -> types.ModuleType:
    made = types.ModuleType(name)
    made.__spec__ = importlib.machinery.ModuleSpec(name, None)
    if version:
        made.__version__ = version  # type: ignore[attr-defined]
    exec("def call(function): return function()", made.__dict__)
    return made


class Warnings(unittest.TestCase):
    def setUp(self) -> None:
        self.horovod, self.lightning = package("horovod", "0.28.1"), package("lightning", "2.6.6")
        there = mock.patch.dict(sys.modules, horovod=self.horovod, lightning=self.lightning)
        there.start()
        self.addCleanup(there.stop)

    def test_versions_are_those_of_what_is_imported(self) -> None:
        found = _frameworks.versions()
        self.assertEqual((found["horovod"], found["lightning"]), ("0.28.1", "2.6.6"))
        self.assertNotIn("megatron", found)

    def test_what_is_only_imported_is_not_named(self) -> None:
        self.assertEqual(_frameworks.warning([]), "")

    def test_what_is_at_work_is_named(self) -> None:
        optimizer = type("DistributedOptimizer", (), {"__module__": "horovod.torch.optimizer"})
        self.assertIn("not tested with horovod 0.28.1", _frameworks.warning([type("Own", (optimizer,), {})]))
        self.assertIn("not tested with horovod 0.28.1", self.horovod.call(lambda: _frameworks.warning([])))

    def test_what_was_tried_is_not_named(self) -> None:
        module = type("LightningModule", (), {"__module__": "lightning.pytorch.core"})
        self.assertEqual(_frameworks.warning([module]), "")


if __name__ == "__main__":
    unittest.main()

"""A copy of the Python package beside an injection folder, as in a build, with a fake torch and recorder:
what starts a recording is tested without either. Each test has its own, and starts Python processes in it."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Dict, Optional

SOURCES = Path(__file__).resolve().parents[2] / "dump" / "python"

_ATTACH = """
import os, sys
def attach():
    import torch
    with open(os.environ["ATTACHED"], "a") as file:
        print(os.getpid(), torch.__version__, torch.ready, os.environ.get("MSDBG_LEVEL", ""), file=file)
    if os.environ.get("ATTACH_FAILS"):
        raise RuntimeError("no extension for this machine")
"""

_TORCH = """
__version__ = "9.9"
import torch.nn  # a submodule, while torch itself is being imported
ready = True
"""


class PackageCopy(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="msdbg_python_"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.inject, self.package = self.folder / "python" / "inject", self.folder / "python" / "msdbg"
        shutil.copytree(SOURCES / "inject", self.inject)
        shutil.copytree(SOURCES / "msdbg", self.package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        (self.package / "__init__.py").write_text("")
        (self.package / "_attach.py").write_text(_ATTACH)
        self.site = self.folder / "site"  # what the user has on PYTHONPATH
        (self.site / "torch").mkdir(parents=True)
        (self.site / "torch" / "__init__.py").write_text(_TORCH)
        (self.site / "torch" / "nn.py").write_text("")
        self.work = self.folder / "work"
        self.work.mkdir()
        self.run_folder = self.folder / "run.msdbg"
        self.run_folder.mkdir()

    def write(self, name: str, text: str) -> Path:
        file = self.work / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def environment(self, injected: bool = True, **more: str) -> Dict[str, str]:
        paths = [str(self.inject), str(self.site)] if injected else [str(self.site)]
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("MSDBG_", "PYTHON"))}
        return {**clean, "PYTHONPATH": os.pathsep.join(paths), "MSDBG_DUMP": str(self.run_folder),
                "MSDBG_RUN_INFO": "launcher", "ATTACHED": str(self.folder / "attached"), **more}

    def python(self, *words: str, environment: Optional[Dict[str, str]] = None,
               executable: str = sys.executable) -> subprocess.CompletedProcess:
        return subprocess.run([executable, *map(str, words)], cwd=self.work, text=True, capture_output=True,
                              env=self.environment() if environment is None else environment, timeout=60,
                              check=False)

    def attached(self) -> list:
        """The lines of the fake recorder: pid, torch's version, whether torch was whole, level."""
        file = self.folder / "attached"
        return file.read_text().splitlines() if file.exists() else []

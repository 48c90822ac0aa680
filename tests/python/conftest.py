"""Tests of the Python package. Those that need torch are named test_torch_*.py and are left out where there is none."""

from __future__ import annotations

import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "dump", "python")]
collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_torch_*.py"]
os.environ.setdefault("OMP_NUM_THREADS", "1")

"""The extension and the C ABI without torch: what the package called while the scripts ran (streams/) is called again,
and the run that comes of it is whole and has what the stream has."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, List

import built
import stream
from stream_expected import Expected

LEAST = 14  # scripts of which there has to be a stream


def streams() -> Dict[str, List[Path]]:
    """By script and level: of its ranks."""
    found: Dict[str, List[Path]] = {}
    for path in sorted(Path(stream.STREAMS).glob("*.jsonl.gz")):
        found.setdefault(path.name.rsplit(".", 3)[0], []).append(path)
    return found


class Streams(unittest.TestCase):
    def setUp(self) -> None:
        if built.missing():
            self.skipTest(built.missing())
        self.folder = Path(tempfile.mkdtemp(prefix="msdbg_streams_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def played(self, name: str, paths: List[Path], *options: str, policy: str = "stats") -> Path:
        """The run. Its ranks one after the other: the first makes the folder."""
        run = self.folder / f"{name}.msdbg"
        environment = {key: value for key, value in os.environ.items() if not key.startswith("MSDBG_DUMP")}
        environment.update(MSDBG_BUILD=built.BUILD, MSDBG_DUMP_OPTIONS=json.dumps({"policy": policy}))
        for path in paths:
            done = subprocess.run([sys.executable, "-B", stream.__file__, str(path), str(run), *options],
                                  env=environment, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        return run

    def told(self, command: str, run: Path, *options: str) -> Any:
        done = subprocess.run([built.MSDBG, command, "--json", str(run), *options], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def check(self, run: Path, expected: List[Expected]) -> Any:
        verified = self.told("verify", run)
        self.assertEqual((verified["ok"], verified["damage"]), (True, []))
        self.assertGreater(verified["bytes"], 0)
        info = self.told("info", run)
        self.assertEqual(info["end"]["state"], expected[0].finished)
        self.assertEqual([rank["count"] for rank in info["ranks"]], [rank.iterations for rank in expected])
        self.assertEqual([bool(rank["incomplete"]) for rank in info["ranks"]],
                         [rank.incomplete for rank in expected])
        self.assertEqual(info["graph"]["nodes"], len(expected[0].nodes))
        graphs = sum(rank.versions for rank in expected)
        self.assertGreaterEqual(info["storage"]["segments"], graphs)  # more where a second passes, or values are many
        return info

    def test_of_each_script_the_run_is_whole_and_has_what_the_stream_has(self) -> None:
        for name, paths in streams().items():
            with self.subTest(name):
                self.check(self.played(name, paths), [Expected(stream.read(str(path))) for path in paths])

    def test_the_c_functions_record_the_same(self) -> None:
        for name in ("mlp_digits.ops", "nanogpt.modules"):
            with self.subTest(name):
                paths = streams()[name]
                info = self.check(self.played(name, paths, "--abi"), [Expected(stream.read(str(paths[0])))])
                again = self.told("info", self.played(f"again_{name}", paths))
                for key in ("graph", "scalars", "libraries", "policy"):
                    self.assertEqual(info[key], again[key])

    def test_devices_and_classes_of_modules_are_read_back(self) -> None:
        calls = stream.read(str(streams()["mlp_digits.ops"][0]))
        first = next(at for at, call in enumerate(calls) if call[0] == "source")
        told = [["device", 0, "cuda:1"], ["device", 0, "cpu"], ["module", "Net", "Net"], ["module", "Net/fc", "Linear"]]
        path = self.folder / "told.0.jsonl.gz"
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(call) + "\n" for call in [*calls[:first + 1], *told, *calls[first + 1:]])
        for options in ((), ("--abi",)):
            info = self.told("info", self.played(f"told{len(options)}", [path], *options), "--tensors", "*", "--modules")
            self.assertEqual([t["device"] for t in info["tensors"] if t["device"] != "cpu"], ["cuda:1"])  # the first one stays
            self.assertIn(("Net/fc", "Linear"), [(m["path"], m["class"]) for m in info["modules"]])

    def test_values_are_there_where_they_are_asked_for(self) -> None:
        for name in ("mlp_digits.ops", "nanogpt_bf16.ops"):
            with self.subTest(name):
                paths = streams()[name]
                info = self.check(self.played(name, paths, policy="full"), [Expected(stream.read(str(paths[0])))])
                self.assertGreater(info["storage"]["raw_bytes"], 100_000)

    def test_there_are_streams_of_enough_scripts_and_they_are_small(self) -> None:
        at_ops = [name for name in streams() if name.endswith(".ops")]
        self.assertGreaterEqual(len(at_ops), LEAST)
        size = sum(path.stat().st_size for paths in streams().values() for path in paths)
        self.assertLess(size, 1_500_000)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])

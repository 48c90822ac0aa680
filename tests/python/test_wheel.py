"""The wheel that ./dev wheel has made, in a bare virtual environment: installed without root, it records, and
its command line reads what it has recorded."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

_BUILD = Path(__file__).resolve().parents[2] / "build"
_TRAIN = """
import torch
net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    loss = net(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
_FAULT = "torch.randn(8, 4) * (float('nan') if step == 3 else 1)"


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        wheels = sorted(_BUILD.glob("msdbg-*.whl"))
        if not wheels:
            raise unittest.SkipTest("there is no wheel: ./dev wheel makes one")
        venv = tempfile.TemporaryDirectory(prefix="msdbg_wheel_")
        cls.addClassCleanup(venv.cleanup)
        subprocess.run([sys.executable, "-m", "venv", venv.name], check=True)
        cls.python = Path(venv.name) / "bin" / "python"
        subprocess.run([cls.python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheels[-1]],
                       check=True)
        site = subprocess.run([cls.python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"],
                              text=True, capture_output=True, check=True)
        cls.site = Path(site.stdout.strip())

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="msdbg_wheel_")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def call(self, *words: object, **variables: str) -> subprocess.CompletedProcess:
        result = self.run_in_folder(str(self.python), *map(str, words), **variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def msdbg(self, *words: str, status: int = 0) -> subprocess.CompletedProcess:
        """The script that pip has made, found on PATH as in an activated environment."""
        folder = str(self.python.parent)
        result = self.run_in_folder("msdbg", *words, PATH=folder + os.pathsep + os.environ["PATH"])
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def run_in_folder(self, *words: str, **variables: str) -> subprocess.CompletedProcess:
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("MSDBG_", "PYTHON"))}
        environment = {**clean, "OMP_NUM_THREADS": "1", **variables}
        program = shutil.which(words[0], path=environment["PATH"])
        self.assertIsNotNone(program, words[0])
        return subprocess.run([program, *words[1:]], cwd=self.folder, text=True, capture_output=True,
                              timeout=120, env=environment, check=False)

    def test_its_binaries_need_libc_and_libgcc_alone(self) -> None:
        for name in ("_record.abi3.so", "libmsdbg_record.so", "bin/msdbg"):
            needed = subprocess.run(["ldd", self.site / "msdbg" / name], text=True, capture_output=True,
                                    check=True)
            self.assertNotIn("not found", needed.stdout)
            names = {line.split()[0].split("/")[-1].split(".so")[0] for line in needed.stdout.splitlines()}
            self.assertLessEqual(names, {"linux-vdso", "libc", "libm", "libdl", "libpthread", "libgcc_s",
                                         "ld-linux-x86-64", "libmsdbg_record"})

    def test_the_extension_loads_beside_nothing_else(self) -> None:
        self.call("-c", "from msdbg import _record; assert callable(_record.open)")

    def test_without_the_variable_nothing_is_imported(self) -> None:
        self.assertEqual(self.call("-c", "import sys; print('msdbg' in sys.modules)").stdout, "False\n")

    def give_torch(self) -> None:
        """That of the Python that runs the tests: the environment has none of its own."""
        torch = subprocess.run([sys.executable, "-c", "import torch; print(torch.__path__[0])"], text=True,
                               capture_output=True, check=False)
        if torch.returncode != 0:
            self.skipTest("there is no torch")
        (self.site / "torch_of_the_test.pth").write_text(str(Path(torch.stdout.strip()).parent) + "\n")
        (self.folder / "train.py").write_text(_TRAIN)

    def test_it_records_by_the_variable_alone_and_by_python_m(self) -> None:
        self.give_torch()
        self.call("train.py", MSDBG_DUMP=str(self.folder / "variable.msdbg"))
        self.call("-m", "msdbg", "-o", "main.msdbg", "--level", "ops", "train.py")
        self.call("-I", "-m", "msdbg", "-o", "isolated.msdbg", "train.py")
        for name in ("variable", "main", "isolated"):
            run = json.loads((self.folder / f"{name}.msdbg" / "run.json").read_text())
            self.assertEqual(run["end"]["state"], "finished", name)
            self.assertTrue((self.folder / f"{name}.msdbg" / "rank_0" / "journal").exists())

    def test_the_command_line_records_and_reads(self) -> None:
        self.give_torch()
        recorded = self.msdbg("dump", "--level", "ops", "-o", "run.msdbg", "--", "python", "train.py")
        self.assertIn("finished   5 iterations", recorded.stdout)
        info = json.loads(self.msdbg("info", "run.msdbg", "--json").stdout)
        self.assertEqual(info["end"]["state"], "finished")
        self.assertIn("no fault", self.msdbg("check", "run.msdbg").stdout.lower())
        found = self.msdbg("search", "run.msdbg", "train.py:6").stdout
        self.assertIn("Linear", found)
        self.msdbg("verify", "run.msdbg")
        steps = self.call("-c", "import msdbg; print(len(msdbg.open('run.msdbg').stats('*')['l2']))")
        self.assertGreater(int(steps.stdout), 5)
        (self.folder / "train.py").write_text(_TRAIN.replace("torch.randn(8, 4)", _FAULT))
        self.msdbg("dump", "--level", "ops", "-o", "sick.msdbg", "--", "python", "train.py")
        sick = self.msdbg("check", "sick.msdbg", status=3).stdout
        self.assertIn("iteration 3", sick)
        self.assertIn("train.py:6", sick)

    def test_a_process_of_another_python_is_recorded_by_what_the_program_brings(self) -> None:
        """PYTHONPATH leads into the package of the wheel, whichever environment's Python is started."""
        self.give_torch()
        self.msdbg("dump", "-o", "other.msdbg", "--", sys.executable, "train.py")
        self.assertTrue((self.folder / "other.msdbg" / "rank_0" / "journal").exists())

    def test_what_needs_the_engine_says_so(self) -> None:
        for line in ("models", "ops", "compile mlp", "bench mlp", "replay --iteration 1", "dump mlp -n 2"):
            said = self.msdbg(*line.split(), status=1).stderr
            self.assertIn("needs msdbg's engine", said)
            self.assertIn("./dev build", said)
        self.assertIn("engine: not built in", self.msdbg("--version").stdout)
        if not shutil.which("msdbg-gui"):
            self.assertIn("msdbg-gui is neither", self.msdbg("open", status=1).stderr)

    def test_the_package_says_what_it_holds_and_what_not(self) -> None:
        said = self.call("-c", "from importlib.metadata import metadata\n"
                               "print(metadata('msdbg').get_payload())")
        for words in ("msdbg dump -- python train.py", "What is not: the engine", "msdbg-gui"):
            self.assertIn(words, said.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])

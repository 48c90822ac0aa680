"""The wheel that ./dev wheel has made, in a bare virtual environment: installed without root, it records."""
from __future__ import annotations

import json
import os
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


class Wheel(unittest.TestCase):
    def setUp(self) -> None:
        wheels = sorted(_BUILD.glob("msdbg-*.whl"))
        if not wheels:
            self.skipTest("there is no wheel: ./dev wheel makes one")
        folder = tempfile.TemporaryDirectory(prefix="msdbg_wheel_")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        subprocess.run([sys.executable, "-m", "venv", self.folder / "venv"], check=True)
        self.python = self.folder / "venv" / "bin" / "python"
        self.call("-m", "pip", "install", "-q", "--no-index", "--no-deps", wheels[-1])
        site = self.call("-c", "import sysconfig; print(sysconfig.get_path('platlib'))")
        self.site = Path(site.stdout.strip())

    def call(self, *words: object, **variables: str) -> subprocess.CompletedProcess:
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("MSDBG_", "PYTHON"))}
        result = subprocess.run([str(self.python), *map(str, words)], cwd=self.folder, text=True,
                                capture_output=True, timeout=120,
                                env={**clean, "OMP_NUM_THREADS": "1", **variables},
                                check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def test_its_binaries_need_libc_and_libgcc_alone(self) -> None:
        for name in ("_record.abi3.so", "libmsdbg_record.so"):
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

    def test_it_records_by_the_variable_alone_and_by_python_m(self) -> None:
        torch = subprocess.run([sys.executable, "-c", "import torch; print(torch.__path__[0])"], text=True,
                               capture_output=True, check=False)
        if torch.returncode != 0:
            self.skipTest("there is no torch")
        (self.site / "torch_of_the_test.pth").write_text(str(Path(torch.stdout.strip()).parent) + "\n")
        (self.folder / "train.py").write_text(_TRAIN)
        self.call("train.py", MSDBG_DUMP=str(self.folder / "variable.msdbg"))
        self.call("-m", "msdbg", "-o", "main.msdbg", "--level", "ops", "train.py")
        self.call("-I", "-m", "msdbg", "-o", "isolated.msdbg", "train.py")
        for name in ("variable", "main", "isolated"):
            run = json.loads((self.folder / f"{name}.msdbg" / "run.json").read_text())
            self.assertEqual(run["end"]["state"], "finished", name)
            self.assertTrue((self.folder / f"{name}.msdbg" / "rank_0" / "journal").exists())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])

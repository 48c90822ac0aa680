"""How a Python process comes to be recorded: by the injected sitecustomize, or by a wheel's .pth file."""
from __future__ import annotations

import json
import importlib.util
import os
import shutil
import subprocess
import sys
import unittest
from typing import Optional

from package_copy import SOURCES, PackageCopy


def python_before_39() -> Optional[str]:
    """One that starts: a name on PATH may belong to a version that is not chosen."""
    for name in ("python3.8", "python3.7", "python3.6"):
        found = shutil.which(name)
        if found and subprocess.run([found, "-c", "pass"], capture_output=True, check=False).returncode == 0:
            return found
    return None


class Injection(PackageCopy):
    def test_the_recorder_attaches_once_when_torch_is_whole(self) -> None:
        script = self.write("train.py", "import torch, torch.nn\nimport torch\nprint(torch.ready)\n")
        result = self.python(script)
        self.assertEqual((result.stdout, result.stderr, result.returncode), ("True\n", "", 0))
        [line] = self.attached()
        self.assertEqual(line.split()[1:], ["9.9", "True"])

    def test_nothing_of_the_hook_is_left_and_torch_looks_as_ever(self) -> None:
        show = "import sys, torch\n" \
               "print([type(f).__name__ for f in sys.meta_path if 'Torch' in type(f).__name__])\n" \
               "print(type(torch.__spec__.loader).__name__, type(torch.__loader__).__name__)\n"
        result = self.python("-c", show)
        self.assertEqual(result.stdout, "[]\nSourceFileLoader SourceFileLoader\n", result.stderr)

    def test_asking_whether_there_is_a_torch_imports_nothing_and_forgets_nothing(self) -> None:
        ask = "from importlib.util import find_spec\nassert 'torch' in find_spec('torch').origin\n"
        self.assertEqual(self.python("-c", ask).returncode, 0)
        self.assertEqual(self.attached(), [])
        self.assertEqual(self.python("-c", ask + "import torch").returncode, 0)
        self.assertEqual(len(self.attached()), 1)

    def test_a_program_without_torch_is_left_alone(self) -> None:
        result = self.python("-c", "import json, sys; print('msdbg._attach' in sys.modules)")
        self.assertEqual((result.stdout, result.stderr), ("False\n", ""))
        self.assertEqual(self.attached(), [])

    def test_without_a_run_to_record_nothing_of_msdbg_is_imported(self) -> None:
        environment = self.environment()
        del environment["MSDBG_DUMP"]
        show = "import sys, torch; print([name for name in sys.modules if name.startswith('msdbg')])"
        self.assertEqual(self.python("-c", show, environment=environment).stdout, "[]\n")

    def test_an_import_of_torch_that_fails_fails_as_ever_and_the_next_one_attaches(self) -> None:
        broken = "import os\nif os.environ.pop('BROKEN', ''): import no_such\n"
        (self.site / "torch" / "nn.py").write_text(broken)
        script = "try:\n  import torch\nexcept ImportError as e: print(e)\nimport torch"
        result = self.python("-c", script, environment=self.environment(BROKEN="1"))
        self.assertEqual(result.stdout, "No module named 'no_such'\n", result.stderr)
        self.assertEqual(len(self.attached()), 1)

    @unittest.skipIf(importlib.util.find_spec("torch"), "this Python has torch")
    def test_there_being_no_torch_is_python_s_own_error(self) -> None:
        shutil.rmtree(self.site / "torch")
        result = self.python("-c", "import torch")
        self.assertRegex(result.stderr, "ModuleNotFoundError: No module named 'torch'\n$")
        self.assertNotIn("msdbg", result.stderr)

    def test_children_are_recorded_too_spawned_ones_as_well(self) -> None:
        script = self.write("train.py", "import multiprocessing, torch\n"
                            "def work(): import torch\n"
                            "if __name__ == '__main__':\n"
                            "  c = multiprocessing.get_context('spawn').Process(target=work)\n"
                            "  c.start(); c.join(); assert c.exitcode == 0\n")
        self.assertEqual(self.python(script).returncode, 0)
        self.assertEqual(len({line.split()[0] for line in self.attached()}), 2)

    def test_a_recorder_that_cannot_start_is_said_and_the_program_goes_on(self) -> None:
        fails = self.environment(ATTACH_FAILS="1")
        result = self.python("-c", "import torch; print('trained')", environment=fails)
        self.assertEqual((result.stdout, result.returncode), ("trained\n", 0))
        self.assertRegex(result.stderr, r"^msdbg: warning: process \d+ is not recorded: "
                         r"the recorder could not start: RuntimeError: no extension for this machine\n$")
        self.assertEqual([note["event"] for note in self.notes()], ["started", "torch", "reason"])

    def test_the_user_s_own_sitecustomize_still_runs_and_may_import_torch(self) -> None:
        (self.site / "sitecustomize.py").write_text("import torch\nmine = __file__\n")
        result = self.python("-c", "import sitecustomize; print(sitecustomize.mine)")
        self.assertEqual(result.stdout, f"{self.site / 'sitecustomize.py'}\n", result.stderr)
        self.assertEqual(len(self.attached()), 1)

    def test_what_the_user_s_sitecustomize_raises_python_reports(self) -> None:
        (self.site / "sitecustomize.py").write_text("raise ValueError('mine')\n")
        result = self.python("-c", "import torch; print('on')")
        self.assertEqual(result.stdout, "on\n")
        self.assertIn("ValueError: mine", result.stderr)
        self.assertEqual(len(self.attached()), 1)

    def test_sys_path_has_what_the_user_put_there_and_msdbg_is_found(self) -> None:
        (self.site / "inject.py").write_text("mine = 1\n")
        result = self.python("-c", "import sys, msdbg, inject; print(inject.mine, msdbg.__file__)\n"
                             "print([p for p in sys.path if 'msdbg_python_' in p])")
        wanted = f"1 {self.package / '__init__.py'}\n{[str(self.site)]}\n"
        self.assertEqual(result.stdout, wanted, result.stderr)

    def test_what_came_so_far_is_noted_for_the_launcher_only(self) -> None:
        script = self.write("train.py", "import torch\nfrom msdbg import _notes\n"
                            "_notes.reason('no step was seen')\n")
        self.python(script)
        started, torch, reason = self.notes()
        self.assertEqual((started["event"], started["program"]), ("started", str(script)))
        self.assertEqual((torch["event"], torch["version"]), ("torch", "9.9"))
        self.assertEqual((reason["event"], reason["text"]), ("reason", "no step was seen"))
        self.assertEqual(len({note["pid"] for note in self.notes()}), 1)
        os.remove(self.run_folder / "python_notes")
        environment = self.environment()
        del environment["MSDBG_RUN_INFO"]
        self.python(script, environment=environment)
        self.assertEqual(self.notes(), [])
        self.assertEqual(len(self.attached()), 2)

    def test_notes_do_not_grow_without_end(self) -> None:
        self.python("-c", "from msdbg import _notes\nfor i in range(3000): _notes.reason('x' * 4000)")
        self.assertLess((self.run_folder / "python_notes").stat().st_size, 70_000)

    def test_I_E_and_S_defeat_the_injection_and_leave_no_note(self) -> None:
        for flag in ("-I", "-E", "-S"):
            self.python(flag, "-c", "pass")
            self.assertEqual(self.notes(), [], flag)

    def test_a_python_that_is_too_old_says_so_in_the_notes_and_runs(self) -> None:
        old = python_before_39()
        if old is None:
            self.skipTest("there is no Python older than 3.9 on PATH")
        result = self.python("-c", "import torch; print('trained')", executable=old)
        self.assertEqual((result.stdout, result.stderr), ("trained\n", ""))
        self.assertEqual([note["text"] for note in self.notes()],
                         ["Python 3.8 is too old to be recorded (3.9 or newer)"])

    def notes(self) -> list:
        file = self.run_folder / "python_notes"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


class PthFile(PackageCopy):
    """A wheel's msdbg.pth lies beside the package, in a folder that Python treats as site-packages."""

    def setUp(self) -> None:
        super().setUp()
        shutil.copy(SOURCES / "msdbg.pth", self.site)
        shutil.copytree(self.package, self.site / "msdbg")
        self.add_site = f"import site; site.addsitedir({str(self.site)!r})\n"

    def test_it_wakes_on_the_variable(self) -> None:
        result = self.python("-c", self.add_site + "import torch",
                             environment=self.environment(injected=False))
        self.assertEqual(result.stderr, "")
        self.assertEqual(len(self.attached()), 1)

    def test_it_sleeps_without_and_where_the_variable_is_empty(self) -> None:
        for empty in (False, True):
            environment = self.environment(injected=False, MSDBG_DUMP="")
            if not empty:
                del environment["MSDBG_DUMP"]
            result = self.python("-c", self.add_site + "import sys, torch; print('msdbg' in sys.modules)",
                                 environment=environment)
            self.assertEqual(result.stdout, "False\n", result.stderr)
        self.assertEqual(self.attached(), [])

    def test_with_the_injection_too_there_is_one_recorder(self) -> None:
        result = self.python("-c", self.add_site + "import torch")
        self.assertEqual(result.stderr, "")
        self.assertEqual(len(self.attached()), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])

"""`python -m msdbg` holds its own against `python`: what a program sees of itself is the same."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest

from package_copy import PackageCopy

_SHOW = """
import sys, os
print(sys.argv)
print(__name__, __file__, __package__, __doc__, __spec__ and __spec__.name, __builtins__ is not None)
print(sys.modules['__main__'].__dict__ is globals(), os.path.relpath(sys.path[0] or '.'))
"""


class Run(PackageCopy):
    def setUp(self) -> None:
        super().setUp()
        self.plain = self.environment(injected=False)
        for name in ("MSDBG_DUMP", "MSDBG_RUN_INFO"):
            del self.plain[name]
        paths = [str(self.package.parent), str(self.site)]
        self.recorded = dict(self.plain, PYTHONPATH=os.pathsep.join(paths))

    def both(self, *words: str) -> tuple:
        """What `python WORDS` gives and what `python -m msdbg WORDS` gives."""
        return (self.python(*words, environment=self.plain),
                self.python("-m", "msdbg", *words, environment=self.recorded))

    def check_same(self, *words: str) -> subprocess.CompletedProcess:
        plain, recorded = self.both(*words)
        self.assertEqual(recorded.stdout, plain.stdout, recorded.stderr)
        self.assertEqual(re.sub(r"^msdbg: recording into .*\n", "", recorded.stderr), plain.stderr)
        self.assertEqual(recorded.returncode, plain.returncode)
        return recorded

    def test_a_script_sees_itself_as_under_python(self) -> None:
        self.write("sub/show.py", '"""Mine."""\n' + _SHOW)
        result = self.check_same("sub/show.py", "--level", "x", "-o", "--", "y")
        self.assertIn("['sub/show.py', '--level', 'x', '-o', '--', 'y']", result.stdout)
        self.assertIn("True sub\n", result.stdout)

    def test_a_module_and_a_package_see_themselves_as_under_python(self) -> None:
        self.write("pack/__init__.py", "")
        self.write("pack/train.py", _SHOW)
        self.write("pack/__main__.py", _SHOW)
        self.check_same("-m", "pack.train", "--epochs", "3")
        self.check_same("-m", "pack", "-m")

    def test_a_folder_with_a_main_runs(self) -> None:
        self.write("app/__main__.py", "import sys, helper; print(sys.argv, __name__, helper.x)")
        self.write("app/helper.py", "x = 3")
        self.check_same("app", "word")

    def test_an_exception_has_the_traceback_and_status_of_python(self) -> None:
        self.write("fails.py", "def f():\n    return 1 / 0\n\n\nf()\n")
        self.assertEqual(self.check_same("fails.py").returncode, 1)
        self.write("both.py", "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('second')\n")
        self.check_same("both.py")
        self.write("syntax.py", "x = = 1\n")
        self.check_same("syntax.py")

    def test_exit_statuses_are_the_program_s(self) -> None:
        for text in ("raise SystemExit(7)", "import sys; sys.exit('gone')", "import os; os._exit(3)",
                     "import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "raise KeyboardInterrupt"):
            self.write("ends.py", text)
            self.check_same("ends.py")

    def test_what_is_not_there_is_said_as_python_says_it(self) -> None:
        self.check_same("missing.py")
        self.check_same("-m", "missing_module")

    def test_what_is_pickled_and_what_runs_at_exit_finds_main(self) -> None:
        self.write("pickles.py", "import atexit, pickle, sys\nclass A:\n    pass\n"
                   "def last(): print(pickle.loads(pickle.dumps(A())).__class__, sys.modules['__main__'].A)\n"
                   "atexit.register(last)\nfrom multiprocessing import get_context\n"
                   "def work(a): print(type(a).__module__)\n"
                   "if __name__ == '__main__':\n"
                   "    p = get_context('spawn').Process(target=work, args=(A(),))\n"
                   "    p.start()\n    p.join()\n")
        self.check_same("pickles.py")

    def test_the_recorder_attaches_into_a_run_that_is_named_after_the_script(self) -> None:
        self.write("train.py", "import torch, os\nprint(os.environ['MSDBG_DUMP'])")
        for number in (1, 2):
            result = self.python("-m", "msdbg", "--level", "ops", "train.py", environment=self.recorded)
            self.assertEqual(result.stdout, f"{self.work / f'train-{number}.msdbg'}\n")
            self.assertEqual(result.stderr, f"msdbg: recording into train-{number}.msdbg\n")
            (self.work / f"train-{number}.msdbg").mkdir()
        self.assertEqual([line.split()[1:] for line in self.attached()], [["9.9", "True", "ops"]] * 2)

    def test_o_names_the_run_unless_somebody_else_has(self) -> None:
        self.write("train.py", "import os\nprint(os.environ['MSDBG_DUMP'])")
        result = self.python("-m", "msdbg", "-o", "mine.msdbg", "train.py", environment=self.recorded)
        self.assertEqual(result.stdout, f"{self.work / 'mine.msdbg'}\n")
        under = dict(self.recorded, MSDBG_DUMP="/tmp/theirs.msdbg")
        theirs = self.python("-m", "msdbg", "train.py", environment=under)
        self.assertEqual(theirs.stdout, "/tmp/theirs.msdbg\n")
        refused = self.python("-m", "msdbg", "-o", "mine.msdbg", "train.py", environment=under)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("MSDBG_DUMP says /tmp/theirs.msdbg already; leave one of them out", refused.stderr)

    def test_processes_that_the_program_starts_are_recorded(self) -> None:
        self.write("parent.py", "import subprocess, sys\n"
                   "subprocess.run([sys.executable, '-c', 'import torch'], check=True)")
        self.check_same("parent.py")
        self.assertEqual(len(self.attached()), 1)

    def test_it_records_where_the_injection_cannot(self) -> None:
        self.write("train.py", "import torch")
        code = "import sys, runpy\n" \
               f"sys.path[:] = [{str(self.package.parent)!r}, {str(self.site)!r}, *sys.path]\n" \
               "sys.argv[1:] = ['train.py']; runpy.run_module('msdbg', run_name='__main__', alter_sys=True)"
        for flag in ("-I", "-E", "-S"):
            result = self.python(flag, "-c", code, environment=self.recorded)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.attached()), 3)

    def test_mistakes_on_the_command_line_end_with_2(self) -> None:
        for words in ((), ("--level", "deep", "train.py"), ("--lev", "ops", "train.py")):
            self.assertEqual(self.python("-m", "msdbg", *words, environment=self.recorded).returncode, 2)
        self.assertIn("python -m msdbg -o run.msdbg",
                      self.python("-m", "msdbg", "--help", environment=self.recorded).stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])

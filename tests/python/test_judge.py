"""judge.py against a msdbg that is not one: it says what this test wants. Needs no torch."""

import contextlib
import io
import json
import os
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fault_table  # noqa: E402
import judge  # noqa: E402

FAKE = """#!{python}
import json, os, sys
if sys.argv[1] == "dump":
    if not {records}:
        sys.exit("the recorder could not start")
    folder = sys.argv[sys.argv.index("-o") + 1]
    os.makedirs(folder)
    healthy = "--bug" not in sys.argv
    with open(os.path.join(folder, "answer"), "w") as file:
        json.dump({healthy} if healthy else {first}, file)
else:
    with open(os.path.join(sys.argv[2], "answer")) as file:
        first = json.load(file)
    print(json.dumps({{"schema": "check/1", "first": first}}))
    sys.exit(3 if first else 0)
"""


def finding(fault, **changes):
    first = {
        "condition": "nonfinite_propagation",
        "severity": "fault",
        "node": fault.scopes[0].replace("*", "x") + "/log-op1",
        "source": {"file": f"/elsewhere/{fault.script}.py", "line": min(fault.lines)},
        "iteration": fault.iteration,
        "phase": fault.phases[0],
        "rank": fault.rank or 0,
    }
    return {**first, **changes}


class Judge(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.fault = next(f for f in fault_table.load()[1] if f.name == "vae:bce_by_hand")

    def run_judge(self, first, healthy=None, records=True):
        """(exit status, what was printed) for vae:bce_by_hand and the healthy script."""
        fake = os.path.join(self.folder.name, "msdbg")
        with open(fake, "w", encoding="utf-8") as file:
            said = {"healthy": repr(healthy), "first": repr(first)}
            file.write(FAKE.format(python=sys.executable, records=records, **said))
        os.chmod(fake, os.stat(fake).st_mode | stat.S_IXUSR)
        cases = ["--case", "vae:bce*", "--case", "vae:healthy"]
        arguments, sys.argv = sys.argv, ["judge", "--msdbg", fake, *cases]
        try:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                status = judge.main()
        finally:
            sys.argv = arguments
        return status, printed.getvalue()

    def test_a_right_finding_is_enough(self):
        status, printed = self.run_judge(finding(self.fault))
        self.assertEqual(status, 0, printed)
        self.assertIn("total: 100.0% of 1 faults", printed)

    def test_another_line_or_scope_is_not(self):
        source = {"file": "vae.py", "line": 1}
        self.assertEqual(self.run_judge(finding(self.fault, source=source))[0], 1)
        self.assertEqual(self.run_judge(finding(self.fault, node="VAE/fc1/addmm-op1"))[0], 1)
        other = {"file": "unet.py", "line": min(self.fault.lines)}
        self.assertEqual(self.run_judge(finding(self.fault, source=other))[0], 1)

    def test_nothing_found_is_not(self):
        status, printed = self.run_judge(None)
        self.assertEqual(status, 1)
        self.assertIn("no fault found", printed)

    def test_a_healthy_script_with_a_fault_fails(self):
        status, printed = self.run_judge(finding(self.fault), healthy=finding(self.fault))
        self.assertEqual(status, 1)
        self.assertIn("healthy: 0 of 1", printed)

    def test_what_was_not_recorded_is_said(self):
        status, printed = self.run_judge(finding(self.fault), records=False)
        self.assertEqual(status, 1)
        self.assertIn("nothing recorded: the recorder could not start", printed)

    def test_every_fault_is_judged_right_by_its_own_row(self):
        for fault in fault_table.load()[1]:
            with self.subTest(fault.name):
                self.assertTrue(all(judge.compare(fault, finding(fault)).values()))
                json.dumps(finding(fault))

    def test_scopes_of_names(self):
        self.assertEqual(fault_table.scope_of("Net/fc1#2/addmm-op1:0")[0], "Net/fc1")
        self.assertIn("Net/fc1", fault_table.scope_of("grad/Net/fc1/AddmmBackward0/mm-op2"))
        self.assertIn("Net/fc1", fault_table.scope_of("grad/Net/fc1/AccumulateGrad-op1"))
        self.assertIn("Net/fc1", fault_table.scope_of("update/Net/fc1/AdamW-op1"))
        self.assertEqual(fault_table.scope_of("main/log-op1"), ["main"])


if __name__ == "__main__":
    unittest.main()

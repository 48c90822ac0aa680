"""Judges the PyTorch recorder: records every script, healthy and with each fault, and asks `msdbg check`.

    python judge.py --msdbg build/release/bin/msdbg [--level ops] [--least 0.95] [--case GLOB] [--jobs 2]

A fault is answered right by a first finding on a marked line and in the module scope of scripts/faults.json;
iteration, phase and rank are counted beside. A healthy script with a finding of severity fault fails,
whatever the share is. Exit status: 0 good enough, 1 not.
"""

import argparse
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Dict, List, Optional

import fault_table
from fault_table import Fault, Script

ASPECTS = ("line", "scope", "iteration", "phase", "rank")


@dataclass
class Verdict:
    name: str
    fault: Optional[Fault]
    right: Dict[str, bool] = field(default_factory=dict)
    said: str = ""
    broken: str = ""

    @property
    def good(self) -> bool:
        if self.broken:
            return False
        return (
            not self.said if self.fault is None else all(self.right.get(a, False) for a in ("line", "scope"))
        )


def run(arguments: List[str], timeout: int) -> subprocess.CompletedProcess:
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    return subprocess.run(arguments, capture_output=True, text=True, env=environment, timeout=timeout)


def last_words(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"


def check(options: argparse.Namespace, script: Script, bug: str, folder: str) -> dict:
    """Records and asks. Raises RuntimeError with what went wrong where there is nothing to judge."""
    program = fault_table.command(script, python=options.python, bug=bug, seed=options.seed)
    recorded = run(
        [options.msdbg, "dump", "--level", options.level, *options.dump, "-o", folder, "--", *program],
        options.timeout,
    )
    if not os.path.isdir(folder):
        raise RuntimeError("nothing recorded: " + last_words(recorded.stderr))
    asked = run([options.msdbg, "check", folder, "--json"], options.timeout)
    if asked.returncode not in (0, 3):
        raise RuntimeError(f"check ended with {asked.returncode}: " + last_words(asked.stderr))
    document = json.loads(asked.stdout)
    if document.get("schema") != "check/1":
        raise RuntimeError(f"unknown document {document.get('schema')}")
    return document


def describe(finding: dict) -> str:
    source = finding.get("source") or {}
    place = f"{os.path.basename(source.get('file') or '-')}:{source.get('line', '-')}"
    return (
        f"{finding['condition']} at {finding.get('node')} {place} iteration {finding.get('iteration')} "
        f"rank {finding.get('rank')} {finding.get('phase')}"
    )


def compare(fault: Fault, finding: dict) -> Dict[str, bool]:
    source = finding.get("source") or {}
    in_script = os.path.basename(source.get("file") or "") == fault.script + ".py"
    place = finding.get("node") or finding.get("tensor") or ""
    return {
        "line": in_script and source.get("line") in fault.lines,
        # An exception has no node: the line is all there is.
        "scope": fault.kind == "exception" or fault_table.is_scope_right(fault, place),
        "iteration": fault.iteration <= (finding.get("iteration") or 0) <= fault.until,
        "phase": fault.kind == "exception" or finding.get("phase") in fault.phases,
        "rank": fault.rank is None or finding.get("rank") == fault.rank,
    }


def judge(options: argparse.Namespace, script: Script, fault: Optional[Fault]) -> Verdict:
    bug = fault.bug if fault else ""
    verdict = Verdict(f"{script.name}:{bug or 'healthy'}", fault)
    folder = os.path.join(options.keep, verdict.name.replace(":", "-") + ".msdbg")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        first = check(options, script, bug, folder).get("first")
    except (RuntimeError, subprocess.TimeoutExpired, json.JSONDecodeError) as error:
        verdict.broken = str(error)
        return verdict
    finally:
        if options.temporary:
            shutil.rmtree(folder, ignore_errors=True)
    if first and first.get("severity") == "fault":
        verdict.said = describe(first)
        if fault:
            verdict.right = compare(fault, first)
    return verdict


def show(verdict: Verdict) -> None:
    mark = "ok  " if verdict.good else "MISS"
    aspects = ""
    if verdict.fault:
        aspects = " ".join(a if verdict.right.get(a) else "-" * len(a) for a in ASPECTS)
    print(
        f"{mark} {verdict.name:38} {aspects}  {verdict.broken or verdict.said or 'no fault found'}",
        flush=True,
    )


def cases(options: argparse.Namespace) -> List[tuple]:
    scripts, faults = fault_table.load()
    chosen = [(script, None) for script in scripts.values()] + [(scripts[f.script], f) for f in faults]
    return [
        (s, f)
        for s, f in chosen
        if any(fnmatch.fnmatchcase(f.name if f else s.name + ":healthy", g) for g in options.case)
    ]


def totals(verdicts: List[Verdict], least: float) -> bool:
    healthy = [v for v in verdicts if v.fault is None]
    sick = [v for v in verdicts if v.fault]
    quiet = sum(v.good for v in healthy)
    print(f"\nhealthy: {quiet} of {len(healthy)} without a fault")
    for aspect in ASPECTS if sick else ():
        print(f"{aspect:>10}: {sum(v.right.get(aspect, False) for v in sick)} of {len(sick)}")
    for family in sorted({v.fault.family for v in sick}):
        of = [v for v in sick if v.fault.family == family]
        print(f"{family:>10}: line and scope right in {sum(v.good for v in of)} of {len(of)}")
    share = sum(v.good for v in sick) / len(sick) if sick else 1.0
    print(f"     total: {share:.1%} of {len(sick)} faults, at least {least:.0%} are wanted")
    return bool(verdicts) and quiet == len(healthy) and share >= least


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--msdbg", required=True, help="the program that records and checks")
    parser.add_argument("--level", default="ops", choices=["train", "modules", "ops"])
    parser.add_argument("--least", type=float, default=0.95, help="share of faults with line and scope right")
    parser.add_argument(
        "--case", action="append", help="script:bug, or a glob (cnn*:*, *:healthy); may be repeated"
    )
    parser.add_argument("--python", default=sys.executable, help="the interpreter with torch")
    parser.add_argument(
        "--dump", action="append", default=[], metavar="OPTION", help="one more option of msdbg dump"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=300, help="seconds, of each command")
    parser.add_argument("--keep", default="", help="folder for the runs (default: they are removed)")
    options = parser.parse_args()
    options.case = options.case or ["*"]
    options.temporary = not options.keep
    options.keep = os.path.abspath(options.keep or tempfile.mkdtemp(prefix="msdbg-judge-"))
    os.makedirs(options.keep, exist_ok=True)
    verdicts = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for verdict in pool.map(lambda case: judge(options, *case), cases(options)):
            show(verdict)
            verdicts.append(verdict)
    if options.temporary:
        shutil.rmtree(options.keep, ignore_errors=True)
    return 0 if totals(verdicts, options.least) else 1


if __name__ == "__main__":
    sys.exit(main())

"""The table of the scripts and their faults (scripts/faults.json), as Python objects. Needs no torch.

A right answer is a statement with `# BUG:name` (or `# BUG:one,two`) at the end of one of its lines, so
editing a script breaks no row.
"""

import ast
import fnmatch
import json
import os
import re
import socket
import sys
from dataclasses import dataclass
from typing import Dict, List, Optional, Set, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, "scripts")
MARK = re.compile(r"# BUG:([\w,]+)\s*$")
LOSS = re.compile(r"\bloss\b'?\s*[=:]?\s*([-+]?(?:nan|inf|\d[\d.]*(?:e[-+]?\d+)?))", re.I)


@dataclass(frozen=True)
class Script:
    """One program. `metric` is what it prints and `better` where that goes when it learns."""

    name: str
    kind: str
    ranks: int = 1
    torchrun: bool = False
    steps: int = 30
    metric: str = "loss"
    better: str = "less"
    spawns: bool = False

    @property
    def path(self) -> str:
        return os.path.join(SCRIPTS, self.name + ".py")


@dataclass(frozen=True)
class Fault:
    """One mistake and the answer that is right.

    `iteration` is where it first acts; `until` the last one in which a finding still names it in time.
    `scopes` are globs over module scopes ("Net/fc1", "main" for the script itself); `rank` is None where all
    ranks are wrong alike.
    """

    script: str
    bug: str
    family: str
    kind: str
    iteration: int
    phases: Tuple[str, ...]
    scopes: Tuple[str, ...]
    why: str
    until: int
    rank: Optional[int] = None

    @property
    def name(self) -> str:
        return f"{self.script}:{self.bug}"

    @property
    def lines(self) -> Set[int]:
        return marked_lines(os.path.join(SCRIPTS, self.script + ".py")).get(self.bug, set())


def marked_lines(path: str) -> Dict[str, Set[int]]:
    """Fault -> numbers of the lines of the statements that carry its mark.

    A call that fills several lines is one statement, and which of them a frame names depends on the
    interpreter.
    """
    with open(path, encoding="utf-8") as file:
        text = file.read()
    spans = [(s.lineno, s.end_lineno or s.lineno) for s in ast.walk(ast.parse(text))
             if isinstance(s, ast.stmt) and not hasattr(s, "body")]
    marks: Dict[str, Set[int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = MARK.search(line)
        for name in found.group(1).split(",") if found else ():
            lines = marks.setdefault(name, set())
            lines.add(number)
            for first, last in spans:
                if first <= number <= last:
                    lines.update(range(first, last + 1))
    return marks


def offered_bugs(path: str) -> Set[str]:
    """What the script's own --bug takes."""
    with open(path, encoding="utf-8") as file:
        choices = re.search(r'"--bug".*?choices=\[(.*?)\]', file.read(), re.S)
    return set(re.findall(r'"(\w+)"', choices.group(1))) if choices else set()


def load() -> Tuple[Dict[str, Script], List[Fault]]:
    with open(os.path.join(SCRIPTS, "faults.json"), encoding="utf-8") as file:
        table = json.load(file)
    scripts = {name: Script(name=name, **row) for name, row in table["scripts"].items()}
    faults = []
    for row in table["faults"]:
        row = dict(row, phases=tuple(row.pop("phases")), scopes=tuple(row.pop("scopes")))
        row.setdefault("until", row["iteration"])
        faults.append(Fault(**row))
    return scripts, faults


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def command(
    script: Script,
    python: str = sys.executable,
    before: Tuple[str, ...] = (),
    bug: str = "",
    steps: int = 0,
    seed: int = 0,
) -> List[str]:
    """How a user starts it; `before` goes between the interpreter and the script."""
    start = [python]
    if script.torchrun:
        torchrun = os.path.join(os.path.dirname(python), "torchrun")
        start = [torchrun, "--nproc-per-node", str(script.ranks), "--master-port", str(free_port())]
    return [
        *start,
        *before,
        script.path,
        "--steps",
        str(steps or script.steps),
        "--seed",
        str(seed),
        *(["--bug", bug] if bug else []),
    ]


def losses(output: str, metric: str = "loss") -> List[float]:
    """What the script printed, in order (of all ranks)."""
    if metric == "loss":
        return [float(x) for x in LOSS.findall(output)]
    return [float(x) for x in re.findall(rf"\b{metric}: (-?[\d.]+|nan|inf)", output)]


def scope_of(node: str) -> List[str]:
    """What a node's full name may mean: without grad/ or update/, call numbers, operator, autograd node. A batch
    ("batch/0") belongs to the script that loads it."""
    parts = [re.sub(r"#\d+$", "", part) for part in node.split(":")[0].split("/")]
    while parts and parts[0] in ("grad", "update", "state"):
        parts = parts[1:]
    scopes = ["/".join(parts[:-1])] + (["main"] if parts[0] == "batch" else [])
    if len(parts) > 2:
        scopes.append("/".join(parts[:-2]))
    return scopes


def is_scope_right(fault: Fault, node: str) -> bool:
    return any(fnmatch.fnmatchcase(scope, pattern) for scope in scope_of(node) for pattern in fault.scopes)

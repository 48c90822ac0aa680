"""Reading a run from Python: msdbg.open(run). What `msdbg` the program prints as JSON, as tables and arrays;
without torch. Values need NumPy."""

from __future__ import annotations

import fnmatch
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

_HITS = 3  # exit status of a check that found something


class MsdbgError(RuntimeError):
    """What the program said: what, where, what to do."""


def program() -> str:
    """The msdbg that belongs to this package, else the one on PATH."""
    here = Path(__file__).resolve().parent
    nearby = (here / "bin" / "msdbg", here.parents[1] / "bin" / "msdbg", here.parents[2] / "bin" / "msdbg")
    for candidate in (os.environ.get("MSDBG_PROGRAM"), *map(str, nearby), shutil.which("msdbg")):
        if candidate and os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    raise MsdbgError("there is no msdbg program beside this package or on PATH; name one in MSDBG_PROGRAM")


class Table(Sequence[Mapping[str, Any]]):
    """Rows of equal columns. `table["mean"]` is a column, `table[3]` a row; pandas.DataFrame(table.columns)."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]):
        self._rows = list(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: Any) -> Any:
        return [row.get(key) for row in self._rows] if isinstance(key, str) else self._rows[key]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._rows)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """By name, in the order in which rows have them."""
        names = dict.fromkeys(name for row in self._rows for name in row)
        return {name: self[name] for name in names}

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {', '.join(self.columns)}>"


class Run:
    """A run folder. Every call asks the program, so a run that is still recorded is seen as it is now."""

    def __init__(self, run: str | os.PathLike[str]):
        self.path = Path(run)
        self._program = program()
        self.info()  # says now what is wrong with it

    def info(self) -> dict[str, Any]:
        """What ran, on what, its ranks and iterations, how it ended (`msdbg info --json`)."""
        return self._ask("info")

    def check(self, *options: str) -> dict[str, Any]:
        """What went wrong first (`msdbg check --json`); `options` as on the command line."""
        return self._ask("check", *options)

    def tensors(self, names: str = "*") -> list[dict[str, Any]]:
        """Names, types and shapes of the tensors that a name or a glob means."""
        return self._ask("info", "--tensors", names)["tensors"]

    def stats(self, names: str, iterations: str | int = "", ranks: str | int = "") -> Table:
        """A row for each tensor, rank and iteration that was recorded: its name, count, nan, inf, min, max,
        mean, std, l2 and the rest, and `step` where the program numbers its steps. `iterations` and `ranks` are
        lists such as "0,2-4,100-", or one number."""
        options = [*(["--iterations", str(iterations)] if iterations != "" else []),
                   *(["--ranks", str(ranks)] if ranks != "" else [])]
        rows = []
        for tensor in self._ask("stats", "--tensor", names, *options)["tensors"]:
            for row in tensor["rows"]:
                known = {key: row[key] for key in ("iteration", "step", "rank") if key in row}
                numbers = {key: _number(value) for key, value in (row["statistics"] or {}).items()}
                rows.append({"tensor": tensor["tensor"], **known, **numbers})
        return Table(rows)

    def metrics(self, names: str = "*") -> Table:
        """Of the metrics that a name or a glob means: a row for each number that the program gave beside an iteration
        (of an evaluation, of a round): metric, rank, iteration, value. What all ranks said alike is the first one's."""
        return Table([{"metric": metric["name"], "rank": metric["rank"], "iteration": each["iteration"],
                       "value": _number(each["value"])}
                      for metric in self.info().get("metrics", []) if fnmatch.fnmatchcase(metric["name"], names)
                      for each in metric["values"]])

    def tensor(self, name: str, iteration: int | None = None, rank: int | None = None) -> Any:
        """The values of a tensor, as a NumPy array; of the newest iteration that has them unless it is named.
        MsdbgError where they were not recorded, with what would record them, and where they could be computed
        again but are not what training had (`msdbg show` shows those all the same, with status 3)."""
        import numpy

        options = [*(["--iteration", str(iteration)] if iteration is not None else []),
                   *(["--rank", str(rank)] if rank is not None else [])]
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "value.npy")
            computed = self._ask("show", "--tensor", name, "--npy", file, *options)["computed"]
            if computed and computed["evidence"] in ("other_hash", "made_of_other_hash"):
                raise MsdbgError(f"{name}, computed again, is not what training had: {_since(computed)}msdbg show shows "
                                 "it all the same, and msdbg replay --prove tells more")
            return numpy.load(file, allow_pickle=False)

    def _ask(self, command: str, *options: str) -> dict[str, Any]:
        words = [self._program, command, str(self.path), "--json", *options]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode not in (0, _HITS) or not done.stdout:
            raise MsdbgError(done.stderr.strip() or f"{' '.join(words)} ended with status {done.returncode}")
        return json.loads(done.stdout)

    def __repr__(self) -> str:
        return f"msdbg.open({str(self.path)!r})"


def _since(computed: Mapping[str, Any]) -> str:
    since = computed["different_since"]
    return (f"it differs since {since['tensor'] or 'some tensor'} of iteration {since['iteration']}, "
            f"rank {since['rank']}; ") if since else ""


def _number(value: Any) -> Any:
    """Numbers that JSON has no word for are texts there."""
    return float(value) if value in ("nan", "inf", "-inf") else value

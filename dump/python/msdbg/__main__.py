"""python -m msdbg: runs a script, a module or a folder as python does, recorded. Also under -I, -E and -S."""
from __future__ import annotations

import argparse
import os
import sys
from typing import List

from msdbg import _run, _start
from msdbg._arm import LEVELS

_EXAMPLES = """examples:
  python -m msdbg train.py --epochs 3              into train-1.msdbg
  python -m msdbg -o run.msdbg --level ops train.py
  python -m msdbg -m torch.distributed.run --nproc-per-node 2 train.py
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m msdbg", description=__doc__.split("\n", maxsplit=1)[0], epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("-o", "--output", metavar="RUN",
                        help="run folder (default: NAME-N.msdbg, first free N)")
    parser.add_argument("--level", choices=LEVELS, help="what is recorded of an iteration (default: train)")
    parser.add_argument("-m", dest="module", action="store_true",
                        help="the program is a module: -m package.train")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM [ARGUMENT...]")
    return parser


def _free_name(program: str) -> str:
    """train.py -> train-1.msdbg, train-2.msdbg, ...: the first that is free, as `msdbg dump` does."""
    name = os.path.splitext(os.path.basename(os.path.normpath(program)))[0]
    number = 1
    while os.path.lexists(f"{name}-{number}.msdbg"):
        number += 1
    return f"{name}-{number}.msdbg"


def _choose_run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """MSDBG_DUMP names the run; who started this process may have chosen it."""
    chosen = os.environ.get("MSDBG_DUMP")
    if chosen and options.output and os.path.abspath(options.output) != os.path.abspath(chosen):
        parser.error(f"-o {options.output}: MSDBG_DUMP says {chosen} already; leave one of them out")
    if not chosen:
        run = os.path.abspath(options.output or _free_name(options.program[0]))
        os.environ["MSDBG_DUMP"] = run
        print(f"msdbg: recording into {os.path.relpath(run)}", file=sys.stderr)
    if options.level:
        os.environ["MSDBG_LEVEL"] = options.level


def main(words: List[str]) -> None:
    parser = _parser()
    options = parser.parse_args(words)
    if not options.program:
        parser.error("what is to be run? give a script and its arguments")
    _choose_run(parser, options)
    _start.inject()
    _start.start()
    if options.module:
        _run.run_module(options.program)
    else:
        _run.run_path(options.program)


if __name__ == "__main__":
    main(sys.argv[1:])

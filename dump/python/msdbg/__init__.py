"""msdbg in a training script. Everything here is optional, and does nothing where the script is not recorded.

    for n, batch in enumerate(loader):
        msdbg.step(n)                       # the user's own number of the step, shown beside the iteration
        with msdbg.scope("augment"):        # a name for operators outside modules
            x = augment(batch)
        msdbg.watch(x, "augmented")         # a value with a name of its own
    msdbg.metric("val_loss", evaluate())    # a number beside the last iteration

    with msdbg.record("run.msdbg", level="ops"):    # in a notebook, where nobody started the process for us
        train()

A run is read by msdbg.open("run.msdbg"). Importing this imports no torch.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from msdbg import _state

__all__ = ["metric", "open", "record", "scope", "step", "watch"]


def step(number: int) -> None:
    """Says which step of the user's this is; to be called where a step begins. Where no optimizer ends the
    iterations (parameters are changed by hand) these calls do."""
    if _state.current is not None:
        _state.current.step(number)


def watch(tensor: Any, name: str) -> Any:
    """Records the values that `tensor` (or a number) has now, as "watch/<name>". Returns it, so that it can stand in an
    expression. The same name twice in an iteration: the first one. TypeError, recorded or not, for anything else."""
    if not isinstance(name, str) or not (isinstance(tensor, (int, float)) or hasattr(tensor, "untyped_storage")):
        raise TypeError(f"msdbg.watch(tensor, name) was given a {type(tensor).__name__} and a {type(name).__name__}")
    if _state.current is not None:
        _state.current.watch(tensor, name)
    return tensor


def metric(name: str, value: Any) -> None:
    """Records a number (or a tensor of one) beside the last complete iteration: of an evaluation, of an epoch. For rounds
    rather than for each iteration; of the same name and iteration the last one counts; before the first iteration is complete
    there is nothing that it could stand beside. TypeError, recorded or not, for what is no number or no name; ValueError for a
    name that the recorder uses itself: loss, learning_rate, step, step_time."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"msdbg.metric(name, value) was given {name!r} as a name")
    if name in ("loss", "learning_rate", "step", "step_time"):
        raise ValueError(f"msdbg.metric: {name!r} is recorded with every iteration; give what you have another name")
    if not _state.is_name(name):
        raise ValueError(f"msdbg.metric: {name!r} is no name that can be written")
    try:
        number = float(value) if _state.current is None else _state.current.number_of(value)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"msdbg.metric: {name} is to be a number, or a tensor of one: {error}") from None
    if _state.current is not None:
        _state.current.metric(name, number)


def open(run: Any) -> Any:  # noqa: A001: the name that users know
    """A run folder, read by way of the msdbg program: see _reading.Run."""
    from msdbg import _reading

    return _reading.Run(run)


@contextlib.contextmanager
def scope(name: str) -> Iterator[None]:
    """Operators within are named "<scope>/<name>/..."; level ops only."""
    if _state.current is None:
        yield
        return
    leave = _state.current.enter_scope(name)
    try:
        yield
    finally:
        leave()


@contextlib.contextmanager
def record(path: str, level: str = "train") -> Iterator[None]:
    """Records what is trained within, as `msdbg dump` would. Level: train, modules or ops. Raises RuntimeError if
    this process is recorded already, FileExistsError if there is a run (each has a folder of its own), ValueError for
    another level, and what keeps the run from being written."""
    from msdbg import _attach  # imports torch

    recording = _attach.start(path, level)
    try:
        yield
    except KeyboardInterrupt:
        recording.finish("stopped", "KeyboardInterrupt", 130)
        raise
    except BaseException as error:
        recording.finish("failed", _attach.text_of(error), 1)
        raise
    finally:
        recording.finish("finished", "", 0)
        _attach.detach()

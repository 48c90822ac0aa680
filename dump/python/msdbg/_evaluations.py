"""What frameworks find in their evaluations, recorded as msdbg.metric() records it: the HuggingFace Trainer's eval_*, and
what Lightning's modules log in validation. A framework is looked for when recording begins: it is imported by then."""
from __future__ import annotations

import sys
from typing import Any, Callable, Iterable, Tuple

from msdbg import _state

# Where Lightning calls the hooks of callbacks; the second name is of the older package.
_LIGHTNING = ("lightning.pytorch.trainer.call", "pytorch_lightning.trainer.call")
_VALIDATION = ("val_", "val/", "valid_", "valid/", "validation_", "validation/")  # "value_loss" is a training's


def record(recording: Any) -> None:
    trainer = getattr(sys.modules.get("transformers.trainer"), "Trainer", None)
    if hasattr(trainer, "log"):
        recording.patches.wrap(trainer, "log", lambda log: _log(recording, log))
    for name in _LIGHTNING:
        call = sys.modules.get(name)
        if hasattr(call, "_call_callback_hooks"):
            recording.patches.wrap(call, "_call_callback_hooks", lambda hooks: _hooks(recording, hooks))


def _give(recording: Any, numbers: Iterable[Tuple[Any, Any]], *prefixes: str) -> None:
    for name, number in numbers:
        wanted = isinstance(name, str) and name.startswith(prefixes) and _state.is_name(name)
        if wanted and (isinstance(number, (int, float)) or _is_one(number)):
            recording.metric(name, recording.number_of(number))


def _is_one(number: Any) -> bool:
    """A tensor of one number."""
    return hasattr(number, "untyped_storage") and number.numel() == 1


def _log(recording: Any, log: Callable[..., Any]) -> Callable[..., Any]:
    def logged(trainer: Any, logs: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(logs, dict):
            recording.guard(_give, recording, list(logs.items()), "eval_")
        return log(trainer, logs, *arguments, **named)
    return logged


def _hooks(recording: Any, hooks: Callable[..., Any]) -> Callable[..., Any]:
    def called(trainer: Any, hook: str, *arguments: Any, **named: Any) -> Any:
        if hook == "on_validation_end" and not getattr(trainer, "sanity_checking", False):
            recording.guard(_give, recording, list(trainer.callback_metrics.items()), *_VALIDATION)
        return hooks(trainer, hook, *arguments, **named)
    return called

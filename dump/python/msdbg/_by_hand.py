"""Programs that change their parameters themselves, without an optimizer of torch.optim: an iteration ends where a
torch.no_grad() is left in which all were changed, or where the next loss is about to be computed and some are others than
backward() left them. Where gradients are computed and cleared again and again, and no parameter changes, it ends where the
next forward pass begins: that nothing is learnt is what is to be seen then. Needs torch.

Costs a look at some parameters for each of these, until an optimizer steps or the script says msdbg.step(n).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from msdbg._patches import Patches
from msdbg._tensors import dense, local, version_of

_SOME = 64  # parameters tell it of all
_PATIENCE = 8  # changes without a step of an optimizer that is there: SAM and attacks on weights change them before it
_SAMPLE = 16  # elements of each
_STILL = 3  # passes in a row that changed nothing, before it is said that none does
_MOST = 100_000  # nodes of autograd that are looked through for them


class ByHand:
    def __init__(self, recording: Any) -> None:
        self._recording = recording
        self._of: list[tuple[Tensor, Any]] = []  # parameter, where it was and how often written when backward() ended
        self._over = self._said = False
        self._patches = Patches()
        self.on = False  # there are such parameters, and they were changed
        self.begun = False  # backward() was called since
        self._leaves: list[Tensor] = []  # all that got gradients
        self._changes = 0
        self._cleared = False  # gradients, since backward() computed some
        self._passes = 0  # in a row, after which they were cleared and nothing had changed

    def stepped(self) -> None:
        """An optimizer is about to."""
        self._over, self.on = True, False
        self._of, self._leaves = [], []
        self._patches.undo()

    def said(self) -> None:
        """The script says where its steps begin, and so where those before them end."""
        self.on, self._said = False, True
        self._patches.undo()
        if self.begun:
            self.begun = False
            self._recording.optimizers.changed_by_hand()

    def forward_begins(self) -> None:
        self._look_for_changes()
        if self._is_still() and self.begun and not self._said:
            self._end()

    def backward_begins(self) -> None:
        self._look_for_changes()
        if self._of and self._passes < _STILL and not self._recording.cycle.any():
            self._cleared = self._is_zero(self._of[-1][0].grad)

    def _look_for_changes(self) -> None:
        if any(self._mark(p) != mark for p, mark in self._of):
            self._changed()

    def _is_still(self) -> bool:
        return self._passes >= _STILL and not self._recording.cycle.any()

    def _left_no_grad(self) -> None:
        """Each parameter may have one of its own."""
        if self._of and all(self._mark(p) != mark for p, mark in self._of):
            self._changed()

    def _changed(self) -> None:
        self._passes = 0
        if not self._said:
            self._end()

    def _end(self) -> None:
        self._look()
        self._changes += 1
        if self._recording.cycle.any() and self._changes < _PATIENCE:
            return
        self.on, self.begun = True, False
        self._recording.optimizers.changed_by_hand()
        self._recording.level.flush()
        self._recording.end_iteration()

    def _look(self) -> None:
        self._of = [(p, self._mark(p)) for p, _ in self._of]

    def backward_ended(self, losses: Any) -> None:
        if self._over:
            return
        if not self._of:
            self._meet([leaf for leaf in _leaves(losses) if leaf.grad is not None])
        self.begun = bool(self._of)
        self._passes += self._cleared
        self._cleared = False
        self._look()
        if self._is_still() or not self._recording.level.exact:  # which sees the operators that change them
            self._recording.optimizers.read_by_hand(self._leaves)

    def _meet(self, leaves: list[Tensor]) -> None:
        recording = self._recording
        if not leaves:
            return
        self._of = [(leaf, None) for leaf in leaves[:: len(leaves) // _SOME + 1] + leaves[-1:]]
        if not self._said:
            self._patches.wrap(torch.no_grad, "__exit__", self._wrap_exit)
            recording.patches.later(self._patches.undo)
        if recording.cycle.any():
            return
        names = recording.names
        names.discover([leaf for leaf in leaves if names.parameter(leaf) is None])
        for index, leaf in enumerate(leaves):
            if names.parameter(leaf) is None:
                names.loose(leaf, "main", index)
        self._leaves = leaves
        recording.level.optimizer_made()  # a training has begun, whatever changes its parameters

    def _wrap_exit(self, original: Any) -> Any:
        def __exit__(context: Any, *args: Any) -> None:
            original(context, *args)
            if torch._C._current_graph_task_id() == -1:
                self._recording.guard(self._left_no_grad)

        return __exit__

    def _mark(self, parameter: Tensor) -> Any:
        """Where there is an optimizer it may be wrapped, as FSDP's, which moves parameters about."""
        value = dense(local(parameter))
        if self._recording.cycle.any():
            return version_of(value)
        return version_of(value), value.data_ptr(), self._sample(value)

    def _is_zero(self, gradient: Any) -> bool:
        level = self._recording.level
        level.suspend()
        try:
            return gradient is None or not bool(dense(local(gradient)).any())
        finally:
            level.resume()

    def _sample(self, value: Tensor) -> Any:
        """What is written through .data leaves no version behind."""
        level = self._recording.level
        level.suspend()
        try:
            some = value.detach().reshape(-1)[:: max(1, value.numel() // _SAMPLE)] if value.is_contiguous() else None
            return None if some is None else repr(some.tolist())  # NaN is equal to itself there
        finally:
            level.resume()


def _leaves(losses: Any) -> list[Tensor]:
    """What gets gradients from a loss, in the order of a walk back from it."""
    waiting = [loss.grad_fn for loss in ((losses,) if isinstance(losses, Tensor) else tuple(losses))
               if isinstance(loss, torch.Tensor)]
    seen: set[Any] = set()
    leaves = []
    while waiting and len(seen) < _MOST:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        waiting.extend(below for below, _ in node.next_functions)
    return leaves

"""What was to be frozen by an attribute that freezes nothing: p.require_grad = False, module.requires_grad = False. A node of
its own, "main/frozen_in_name-op1", once. Needs torch.
"""

from __future__ import annotations

from typing import Any, Iterator

from msdbg._marks import tell

_NEAR = frozenset(("require_grad", "require_grads", "requires_grads", "required_grad", "requires_gradient",
                   "require_gradient", "require_grad_"))


class FrozenInName:
    def __init__(self, recording: Any) -> None:
        self._recording = recording
        self._told = False

    def look(self, parameters: list[Any]) -> None:
        """An optimizer steps for the first time, with these."""
        if self._told:
            return
        for of, name in self._found(parameters):
            self._told = True
            recording = self._recording
            tell(recording, recording.graph.scope("main"), "frozen_in_name", 1, {"of": of, "name": name},
                 recording.frames.here())
            return

    def _found(self, parameters: list[Any]) -> Iterator[tuple[str, str]]:
        names, trained = self._recording.names, {id(p) for p in parameters if p.requires_grad}
        for parameter in parameters:
            for name in _NEAR.intersection(vars(parameter)):
                known = names.parameter(parameter)
                if id(parameter) in trained and vars(parameter)[name] is False and known is not None:
                    yield known.name, name
        for root in names.roots():
            for module in root.modules():
                for name in (_NEAR | {"requires_grad"}).intersection(vars(module)):
                    if vars(module)[name] is False and any(id(p) in trained for p in module.parameters()):
                        yield names.module(module), name

"""Changes that a recording makes to torch, and can take back."""

from __future__ import annotations

from typing import Any, Callable


class Patches:
    """What was replaced or hooked; undo() restores it, the newest first."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def wrap(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replaces owner.name by make(what it was). A name that the owner only inherits is deleted again."""
        own = name in vars(owner)
        original = getattr(owner, name)
        setattr(owner, name, make(original))
        self._undo.append(lambda: setattr(owner, name, original) if own else delattr(owner, name))

    def hook(self, handle: Any) -> None:
        """A handle of torch, with remove()."""
        self._undo.append(handle.remove)

    def later(self, action: Callable[[], None]) -> None:
        self._undo.append(action)

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()

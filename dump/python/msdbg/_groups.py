"""What an optimizer's groups of parameters are set to, but for the rate, which changes: attributes of updates."""

from __future__ import annotations

from typing import Any

_NO_SETTING = {"params", "lr", "initial_lr", "foreach", "fused", "capturable", "differentiable"}  # or no number of it


class Groups:
    """Of one step."""

    def __init__(self) -> None:
        self._known: dict[int, dict[str, Any]] = {}  # by id of the parameter

    def forget(self) -> None:
        self._known.clear()

    def settings(self, optimizer: Any, parameter: Any) -> dict[str, Any]:
        if not self._known:
            for group in optimizer.param_groups:
                self._known.update(dict.fromkeys(map(id, group["params"]), settings_of(group)))
        return self._known.get(id(parameter), {})


def settings_of(group: dict[str, Any]) -> dict[str, Any]:
    """{"momentum": 0.9, "weight_decay": 1e-4}: numbers, texts and what is switched on; what is 0 or off is
    left out, but for eps and betas."""
    found: dict[str, Any] = {}
    for name, value in group.items():
        if name in _NO_SETTING:
            continue
        if name == "betas" and isinstance(value, (tuple, list)):
            found.update((f"beta{i + 1}", float(beta)) for i, beta in enumerate(value) if isinstance(beta, (int, float)))
        elif isinstance(value, (bool, str)):
            found[name] = value
        elif isinstance(value, (int, float)):
            found[name] = float(value)
    return {name: value for name, value in found.items()
            if value or name in ("eps", "learning_rate") or name.startswith("beta")}  # the rate is called lr

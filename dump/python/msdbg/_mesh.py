"""Where this rank stands in the meshes that its parameters are spread over (DTensor: FSDP2, tensor parallelism)."""

from __future__ import annotations

from typing import Any


class Mesh:
    def __init__(self) -> None:
        self._axes: dict[str, tuple[int, int]] = {}
        self._new: dict[str, tuple[int, int]] = {}

    def met(self, parameter: Any) -> None:
        mesh = getattr(parameter, "device_mesh", None)
        place = None if mesh is None else mesh.get_coordinate()
        if place is None:  # an ordinary tensor, or one of other ranks
            return
        names = mesh.mesh_dim_names or [f"dim{axis}" for axis in range(mesh.ndim)]
        for axis, (name, index) in enumerate(zip(names, place)):
            here = (int(index), int(mesh.size(axis)))
            if self._axes.get(name) != here:
                self._axes[name] = self._new[name] = here

    def new_axes(self) -> dict[str, tuple[int, int]]:
        """Index and size by the name of the axis, of those that were met since the last call."""
        new, self._new = self._new, {}
        return new

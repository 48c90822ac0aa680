"""What the schema of an operator says: which arguments are tensors, which of them it writes, what it returns."""

from __future__ import annotations

import math
from typing import Any

READ, CHANGE, OVERWRITE = 1, 2, 3  # what an operator does with a tensor argument

# Write all of `self`, whatever was there.
_OVERWRITING = {"zero_", "fill_", "copy_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_",
                "log_normal_", "cauchy_", "geometric_", "_foreach_zero_", "_foreach_copy_", "arange", "randperm"}
# The written arguments are not annotated in the schema: running statistics, while training.
_RUNNING = {"native_batch_norm": (3, 4), "cudnn_batch_norm": (3, 4), "miopen_batch_norm": (3, 4),
            "batch_norm_with_update": (3, 4)}
_COLLECTIVE = {"tensors": CHANGE, "output_tensor": OVERWRITE, "output_tensors": OVERWRITE, "output": OVERWRITE}
# An infinity that goes in comes out: adding, choosing and moving. Only there a meant one excuses the output.
_KEEPING = {"masked_fill", "masked_fill_", "where", "full", "full_like", "new_full", "fill_", "fill_diagonal_", "scalar_tensor", "add",
            "add_", "sub", "mul", "div", "neg", "cat", "stack", "clone", "copy_", "copy", "_to_copy", "expand", "triu",
            "triu_", "tril", "tril_", "index", "index_select", "gather", "scatter", "scatter_", "index_put",
            "index_put_", "repeat", "constant_pad_nd", "lift_fresh", "_log_softmax", "maximum", "minimum", "amax", "amin", "max", "min",
            "aminmax", "roll",
            "index_fill", "index_fill_", "masked_scatter", "bernoulli", "slice_scatter", "select_scatter",
            "topk", "sort", "flip", "log", "new_tensor", "baddbmm", "logaddexp", "cumsum", "scatter_reduce", "scatter_reduce_",
            "index_reduce", "index_reduce_", "scatter_add", "scatter_add_", "index_add", "index_add_", "index_copy",
            "index_copy_", "take", "take_along_dim", "fmax", "fmin", "cummax", "cummin", "logcumsumexp", "diagonal_scatter",
            "as_strided_scatter", "diag_embed", "put", "put_", "unfold_copy", "repeat_interleave"}
# What they return for their own backward pass, of which they write only what that reads.
_SCRATCH = {"_ctc_loss": (1,), "_cudnn_ctc_loss": (1,)}
_TURNING = {"neg", "sub", "mul", "div"}  # an infinity's sign, maybe
_UNWRITTEN = ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "resize_", "empty_permuted",
              "_resize_output_", "set_")


class Operator:
    """Made once for each overload."""

    __slots__ = ("func", "domain", "kind", "kinds", "names", "named", "fold", "collective", "keeping", "turning", "unwritten",
                 "running", "waits", "fresh", "shapes", "scratch")

    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.func = func
        self.domain, packet = schema.name.split("::", 1)
        self.kind = packet
        self.names = tuple(argument.name for argument in schema.arguments)
        self.kinds = tuple(self._kind(argument) for argument in schema.arguments)
        self.named = dict(zip(self.names, self.kinds))
        writes = any(kind >= CHANGE for kind in self.kinds)
        returned = [r for r in schema.returns if "Tensor" in str(r.type)]
        views = all(r.alias_info is not None and not r.alias_info.is_write for r in returned)
        self.fold = (not writes and views) or packet == "_unsafe_view"  # nothing new: a view, or no tensor at all
        self.fresh = packet == "lift_fresh"  # torch.tensor(): what it shows was made just now
        self.collective = self.domain in ("c10d", "_c10d_functional")
        self.waits = self.collective and packet not in ("send", "recv_", "recv_any_source_", "wait_tensor")
        self.keeping = packet in _KEEPING
        self.turning = packet in _TURNING
        self.unwritten = packet in _UNWRITTEN
        self.shapes = packet.endswith("_like") or packet.startswith("new_")  # reads nothing but those
        self.scratch = _SCRATCH.get(packet, ())
        self.running = _RUNNING.get(packet, ())

    def _kind(self, argument: Any) -> int:
        if "Tensor" not in str(argument.type):
            return 0
        if self.domain == "c10d":  # these schemas do not say what is written
            return _COLLECTIVE.get(argument.name, READ) if self.kind != "send" else READ
        if argument.alias_info is None or not argument.alias_info.is_write:
            return READ
        return OVERWRITE if argument.is_out or self.kind in _OVERWRITING else CHANGE

    def attributes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments that are no tensors, as far as a node can hold them; numbers too that stand where a tensor might."""
        found: dict[str, Any] = {}
        for index, (name, kind) in enumerate(zip(self.names, self.kinds)):
            value = args[index] if index < len(args) else kwargs.get(name)
            if value is not None and (kind == 0 or isinstance(value, (int, float))):
                value = _attribute(value)
                if value is not None:
                    found[name] = value
        return found

    def meant(self, args: tuple[Any, ...], kwargs: dict[str, Any], read: str) -> str:
        """The signs of infinities ("-", "+", "-+") that are meant in what it makes: numbers that were given, as masks are
        made, and those that are meant in what it `read`."""
        if not self.keeping:
            return ""
        given = [value for value in (*args, *kwargs.values()) if isinstance(value, float) and math.isinf(value)]
        signs = read + "".join("-" if value < 0 else "+" for value in given)
        if signs and self.turning:
            return "-+"
        return "".join(sign for sign in "-+" if sign in signs)


def meant_as(signs: str) -> dict[str, bool]:
    """The attributes of a node that makes infinities of these signs on purpose."""
    names = {"-": "meant_infinity", "+": "meant_positive_infinity"}
    return {name: True for sign, name in names.items() if sign in signs}


def _attribute(value: Any) -> Any:
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        items = list(value)
        if all(isinstance(item, bool) for item in items):
            return [int(item) for item in items]
        if all(isinstance(item, int) for item in items) or all(isinstance(item, str) for item in items):
            return items
        if all(isinstance(item, (int, float)) for item in items):
            return [float(item) for item in items]
        return None
    kind = type(value)
    if kind.__module__ == "torch" and kind.__name__ in ("dtype", "device", "layout", "memory_format"):
        return str(value)
    return None

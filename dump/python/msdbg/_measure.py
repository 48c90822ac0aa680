"""What a loss measures, as autograd knows it, where operators are not recorded: of a loss that is a mean, a sum or a part of
one of PyTorch's, which is never below zero if it is given what it takes. Needs torch.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

_PASSED = ("MeanBackward", "SumBackward", "DivBackward", "ViewBackward", "SqueezeBackward", "ToCopyBackward")
_MEASURES = {"NllLossBackward": "nll_loss", "NllLoss2DBackward": "nll_loss", "CtcLossBackward": "ctc_loss",
             "BinaryCrossEntropyBackward": "binary_cross_entropy",
             "BinaryCrossEntropyWithLogitsBackward": "binary_cross_entropy"}
_MOST = 6  # steps


def attributes_of(loss: Tensor) -> dict[str, Any]:
    """Of the node that gives it. Nothing for a cross-entropy, whose logarithms PyTorch takes itself."""
    node = loss.grad_fn
    for _ in range(_MOST):
        kind = "" if node is None else node.name().rstrip("0123456789")
        below = [] if node is None else [following for following, _ in node.next_functions if following is not None]
        if kind in _MEASURES:
            takes_logarithms = bool(below) and below[0].name().startswith("LogSoftmaxBackward")
            return {} if takes_logarithms else {"measure": _MEASURES[kind]}
        if not kind.startswith(_PASSED) or len(below) != 1:
            return {}
        node = below[0]
    return {}

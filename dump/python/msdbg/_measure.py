"""What a loss measures, as autograd knows it, where operators are not recorded: whether it is a mean, a sum or a part of one
of PyTorch's, which is never below zero if it is given what it takes; what squashed the logits whose softmax or sigmoid the
loss takes itself; whether predictions and targets were broadcast against each other. Needs torch.
"""

from __future__ import annotations

from typing import Any, Optional

from torch import Tensor

_PASSED = ("MeanBackward", "SumBackward", "DivBackward", "ViewBackward", "SqueezeBackward", "ToCopyBackward")
_MEASURES = {"NllLossBackward": "nll_loss", "NllLoss2DBackward": "nll_loss", "CtcLossBackward": "ctc_loss",
             "BinaryCrossEntropyBackward": "binary_cross_entropy",
             "BinaryCrossEntropyWithLogitsBackward": "binary_cross_entropy"}
_MOVED = ("ViewBackward", "UnsafeViewBackward", "ReshapeAliasBackward", "TransposeBackward", "PermuteBackward", "TBackward",
          "SqueezeBackward", "UnsqueezeBackward", "SelectBackward", "SliceBackward", "CloneBackward", "ToCopyBackward")
_SQUASHED = {"SoftmaxBackward": "Softmax", "SafeSoftmaxBackward": "Softmax", "LogSoftmaxBackward": "LogSoftmax",
             "SigmoidBackward": "Sigmoid", "HardsigmoidBackward": "HardSigmoid", "TanhBackward": "Tanh", "ReluBackward": "Relu"}
_ERRORS = ("PowBackward", "AbsBackward", "NegBackward", "SqrtBackward", "MulBackward")
_LOSSES = ("MseLossBackward", "L1LossBackward", "SmoothL1LossBackward", "HuberLossBackward")
_MOST = 8  # steps


def attributes_of(loss: Tensor) -> dict[str, Any]:
    """Of the node that gives it."""
    node = loss.grad_fn
    by_hand, is_error = True, False
    for _ in range(_MOST):
        kind, below = _kind(node), _below(node)
        if kind in _MEASURES:
            return {} if is_error else _measured(kind, below)
        if kind in _LOSSES:
            by_hand = False
        elif kind == "SubBackward" and not _is_expanded(below):
            return _broadcast(node, below, by_hand)
        elif kind == "ExpandBackward":  # by PyTorch's loss; what is expanded by itself is compared with nothing
            return _broadcast(node, below, by_hand) if is_error or not by_hand else {}
        elif kind == "SubBackward":  # of l1_loss()
            is_error = True
        elif kind in _ERRORS:
            is_error = True
        elif not kind.startswith(_PASSED):
            return {}
        if len(below) != 1:
            return {}
        node = below[0]
    return {}


def _kind(node: Any) -> str:
    return "" if node is None else node.name().rstrip("0123456789")


def _below(node: Any) -> list[Any]:
    """What a gradient goes on to, each once: error * error has it twice."""
    found: list[Any] = []
    for following, _ in () if node is None else node.next_functions:
        if following is not None and following not in found:
            found.append(following)
    return found


def _maker(below: list[Any]) -> Optional[Any]:
    """Who made the values, before what only moves them."""
    for _ in range(_MOST):
        if len(below) != 1:
            return None
        if not _kind(below[0]).startswith(_MOVED):
            return below[0]
        below = _below(below[0])
    return None


def _measured(kind: str, below: list[Any]) -> dict[str, Any]:
    maker = _maker(below)
    if _kind(maker) == "LogSoftmaxBackward":  # a cross-entropy, whose logarithms PyTorch takes itself
        squashed = _SQUASHED.get(_kind(_maker(_below(maker))))
        return {"softmax_of": squashed} if squashed else {}
    facts = {"measure": _MEASURES[kind]}
    if kind == "BinaryCrossEntropyWithLogitsBackward" and _kind(maker) in _SQUASHED:
        facts["sigmoid_of"] = _SQUASHED[_kind(maker)]
    return facts


def _is_expanded(below: list[Any]) -> bool:
    return len(below) == 1 and _kind(below[0]) == "ExpandBackward"


def _broadcast(node: Any, below: list[Any], by_hand: bool) -> dict[str, Any]:
    """[n, 1] and [n] give [n, n]; "column": what is predicted has [n, 1]."""
    result, operand = _shape(node), _shape(below[0]) if len(below) == 1 else ()
    if len(result) != 2 or result[0] != result[1] or result[0] < 2 or operand not in ((result[0], 1), (result[0],)):
        return {}
    return {"broadcast_by_hand" if by_hand else "broadcast": "column" if len(operand) == 2 else "row"}


def _shape(node: Any) -> tuple[int, ...]:
    metadata = getattr(node, "_input_metadata", ())  # of what the forward pass gave
    return tuple(int(size) for size in metadata[0].shape) if len(metadata) == 1 else ()

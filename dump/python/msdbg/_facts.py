"""What values tell of an operator and its graph does not: labels that are the next tokens, what a mask hides, which axis
a product sums over. Attributes of nodes at level ops, found once, when an operator is met for the first time; values
themselves are not recorded. Needs torch.

    next_of                                 of a loss: its classes are the tokens of this node (an embedding), one place on
    after_next_of                           the same, two places on
    next_across                             one place on, in the order of columns where the node reads rows
    same_as                                 they are those tokens themselves
    holds_blank                             of a CTC loss: the blank, which is among its labels
    padding, looks_up_padding               of an embedding that is given one index a sample: the row that is its padding, the
                                            share of the indices that are this row
    padding, counts_padding                 of a loss with next_of: the token that pads, the share of the labels it counts
                                            that are this token
    hides_next, hides_before, hides_later   of what masks an attention: the share of places i that do not see i + 1, i - 1, i + 2
    lets_through, tokens_of                 of a mask: all places are hidden but those of this token, of this node
    inner_strides                           of bmm, and of mm where no factor is a parameter: how far apart the elements are that it
                                            adds up, of both factors
    new_parameter                           (of _call.py) the number of an input that is a Parameter made just now, which no
                                            module has
    measure                                 (of _measure.py, not at level ops) of a loss: nll_loss, ctc_loss or
                                            binary_cross_entropy, of which it is a mean, a sum or a part
    softmax_of, sigmoid_of                  (as measure) of a loss that takes the softmax or the sigmoid itself: our name of the
                                            operator that gave what it takes it of
    broadcast, broadcast_by_hand            (as measure) of an error that PyTorch computes, or the program: "column" or "row" is
                                            the shape, [n, 1] or [n], of what is predicted, that became [n, n]
    axis_stride                             of a log_softmax of three axes or more: that of the axis it normalises over
    normalised_elsewhere                    of a loss: the log_softmax that made what it reads ran along another axis than
                                            that of the classes
"""

from __future__ import annotations

import math
from typing import Any, Callable, Optional

import torch
from torch import Tensor

from msdbg._graph import Entry
from msdbg._tensors import storage_key

Found = dict[str, Any]


class Tokens:
    """What an embedding looked up in this iteration."""

    __slots__ = ("indices", "name", "padding")

    def __init__(self, indices: Tensor, name: str, padding: int = -1) -> None:
        self.indices, self.name = indices, name
        self.padding = padding  # the token that fills rows up; -1: nobody said so


_LOSSES = ("nll_loss_forward", "nll_loss2d_forward")
_HIDES = -1e3    # added to a score, or put in its place: nothing is left of it after the softmax
_NEARLY_ALL = 0.9
_MOST = 1 << 24  # elements: of larger ones nothing is asked
_LEAST = 8       # pairs: fewer are equal by chance
_MUCH = 0.1      # of what a loss counts
_OTHERS = 4      # tokens that a mask hides all of: with fewer it may be 0 and 1 themselves


class Facts:
    def __init__(self) -> None:
        self._tokens: list[Tokens] = []  # of this iteration
        self._normalised: dict[int, tuple[int, int]] = {}  # by storage: stride and size of the axis of a log_softmax
        self._known: dict[Any, Found] = {}  # by node

    def new_iteration(self) -> None:
        self._tokens.clear()
        self._normalised.clear()

    def of(self, node: Any, kind: str, args: Any, kwargs: Any, made: list[Tensor]) -> Found:
        """Of an operator that ran, `node` telling it from others; what was found where it was met first stays."""
        if kind == "_log_softmax" and made:
            self._normalised[storage_key(made[0])] = _axis(made[0], args[1])
        ask = _QUESTIONS.get("sdpa" if kind.startswith("_scaled_dot_product") else kind)
        if ask is None:
            return {}
        found = self._known.get(node)
        if found is None:
            readable = all(_has_values(thing) for thing in (*args, *kwargs.values()) if isinstance(thing, Tensor))
            found = self._known[node] = ask(self._tokens, args, kwargs, made) if readable else {}
            if kind in _LOSSES and _is_elsewhere(args[0], self._normalised.get(storage_key(args[0]))):
                found["normalised_elsewhere"] = True
        return found

    def defined(self, entry: Entry, args: Any) -> None:
        """Remembers what an embedding looks up."""
        if entry.operator.kind == "embedding" and len(args) > 1 and args[1].numel() <= _MOST:
            self._tokens.append(Tokens(args[1], entry.name, args[2] if len(args) > 2 else -1))


def _has_values(tensor: Tensor) -> bool:
    return tensor.layout is torch.strided and not tensor.is_meta and not tensor.is_quantized


# --- labels ---

def _loss(tokens: list[Tokens], args: Any, kwargs: Any, made: list[Tensor]) -> Found:
    target = args[1]
    step_by_step = sum(each.indices.dim() == 1 for each in tokens) > 1  # what is asked for may be the first of them
    for each in tokens:
        indices = each.indices
        if indices.device != target.device:
            continue
        for fact, step in (("next_of", 1), ("after_next_of", 2)):
            if indices.dim() > 0 and _is_next(indices, target, step):
                return {fact: each.name, **_padding(each, target, args)}
        if indices.dim() == 2 and _is_next(indices.t(), target, 1):
            return {"next_across": each.name}
        if not (step_by_step and indices.dim() == 1) and _is_same(indices, target):
            return {"same_as": each.name}
    return {}


def _ctc(tokens: list[Tokens], args: Any, kwargs: Any, made: list[Tensor]) -> Found:
    """Of _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank)."""
    targets, blank = args[1], args[4] if len(args) > 4 else 0
    if targets.dim() == 2:  # filled up with anything
        lengths = torch.as_tensor(args[3]).to(targets.device).reshape(-1, 1)
        targets = targets[torch.arange(targets.shape[1], device=targets.device) < lengths]
    return {"holds_blank": int(blank)} if bool((targets == blank).any()) else {}


def _padding(tokens: Tokens, target: Tensor, args: Any) -> Found:
    """Of nll_loss(input, target, weight, reduction, ignore_index)."""
    if tokens.padding < 0 or len(args) < 5 or args[2] is not None or args[3] == 0 or args[4] == tokens.padding:
        return {}
    counted = target[target != args[4]]
    share = float((counted == tokens.padding).double().mean()) if counted.numel() else 0.0
    return {"padding": tokens.padding, "counts_padding": share} if share > _MUCH else {}


def _embedding(tokens: list[Tokens], args: Any, kwargs: Any, made: list[Tensor]) -> Found:
    """Of embedding(weight, indices, padding_idx). Rows of texts are padded, also where they are laid end to end; one index a
    sample is not."""
    indices, padding = args[1], args[2] if len(args) > 2 else -1
    whole = indices._base
    if padding < 0 or indices.dim() != 1 or (whole is not None and whole.numel() == indices.numel()):
        return {}
    share = float((indices == padding).double().mean()) if indices.numel() else 0.0
    return {"padding": int(padding), "looks_up_padding": share} if 0 < share < 1 else {}


def _is_same(tokens: Tensor, target: Tensor) -> bool:
    if target.numel() != tokens.numel():
        return False
    label, token = target.reshape(-1), tokens.reshape(-1)
    counted = label >= 0
    pairs = int(counted.sum())
    same = int(((label == token) & counted).sum())
    return pairs >= _LEAST and same > 0.95 * pairs and label[counted].unique().numel() > 1


def _is_next(tokens: Tensor, target: Tensor, step: int) -> bool:
    """Whether each class is the token so many places on. Tokens are [batch, places] or [places, batch]; the last places
    of the labels may be cut off."""
    for axis in {0, tokens.dim() - 1}:
        for places in range(tokens.shape[axis], tokens.shape[axis] - step - 1, -1):
            shape = (*tokens.shape[:axis], places, *tokens.shape[axis + 1:])
            pairs = min(places, tokens.shape[axis] - step)
            if pairs < 2 or target.numel() != math.prod(shape):
                continue
            label = target.reshape(shape).narrow(axis, 0, pairs)
            if _follow(tokens.narrow(axis, 0, pairs), tokens.narrow(axis, step, pairs), label):
                return True
    return False


def _follow(here: Tensor, after: Tensor, label: Tensor) -> bool:
    counted = label >= 0  # -100: not asked for
    pairs = int(counted.sum())
    following, same = int(((label == after) & counted).sum()), int(((label == here) & counted).sum())
    return pairs >= _LEAST and following > 0.95 * pairs and same < 0.9 * pairs


def _axis(tensor: Tensor, axis: int) -> tuple[int, int]:
    return tensor.stride(axis), tensor.shape[axis]


def _is_elsewhere(given: Tensor, normalised: Optional[tuple[int, int]]) -> bool:
    """Whether what a loss of classes is given was normalised along another axis than theirs."""
    if normalised is None or given.dim() == 0:
        return False
    classes = _axis(given, 1 if given.dim() > 1 else 0)
    return classes != normalised and 1 not in (classes[1], normalised[1])


# --- masks ---

def _hidden(mask: Optional[Tensor], tokens: list[Tokens]) -> Found:
    """`mask`: true where nothing is seen, [.., queries, keys] or one of each token."""
    if mask is None or mask.dim() == 0 or mask.numel() > _MOST or not bool(mask.any()):
        return {}
    found = _lets_through(mask, tokens)
    if mask.dim() > 1 and mask.shape[-1] == mask.shape[-2] and mask.shape[-1] >= 3:
        square = mask[(0,) * (mask.dim() - 2)]
        for name, step in (("hides_next", 1), ("hides_before", -1), ("hides_later", 2)):
            found[name] = float(square.diagonal(step).double().mean())
    return found


def _lets_through(mask: Tensor, tokens: list[Tokens]) -> Found:
    once = mask[tuple(0 if stride == 0 else slice(None) for stride in mask.stride())]  # without what is repeated
    for axis in reversed(range(1, once.dim() - 1)):  # of heads and queries, which may be written out
        if once.numel() > once.shape[-1] and bool((once == once.narrow(axis, 0, 1)).all()):
            once = once.select(axis, 0)
    for each in tokens:
        if each.indices.numel() != once.numel() or each.indices.device != mask.device:
            continue
        hides, values = once.reshape(-1), each.indices.reshape(-1)
        kept, counts = values[~hides].unique(return_counts=True)
        hidden = values[hides].unique()
        if hidden.numel() == 1 and kept.numel() >= _OTHERS and not bool((kept == hidden).any()):
            each.padding = int(hidden)
        if kept.numel() == 0 or hidden.numel() < _OTHERS:
            continue
        most = int(counts.argmax())  # of rows that hide all of their tokens one is often let through
        if int(counts[most]) >= _NEARLY_ALL * int(counts.sum()) and not bool((hidden == kept[most]).any()):
            return {"lets_through": int(kept[most]), "tokens_of": each.name}
    return {}


def _number(thing: Any) -> Optional[float]:
    if isinstance(thing, Tensor):
        return float(thing) if thing.numel() == 1 and not thing.is_complex() else None
    return float(thing) if isinstance(thing, (int, float)) else None


def _replaces(value: Any) -> bool:
    number = _number(value)
    return number is not None and number <= _HIDES


def _added(thing: Any) -> Optional[Tensor]:
    """Where what is added to scores hides them, if that is all it does."""
    if not isinstance(thing, Tensor) or not thing.is_floating_point() or not 0 < thing.numel() <= _MOST:
        return None
    if float(thing.max()) != 0:
        return None
    hides = thing <= _HIDES
    return hides if bool((hides | (thing == 0)).all()) else None


def _masked_fill(tokens: list[Tokens], args: Any, kwargs: Any, made: list[Tensor]) -> Found:
    wanted = args[0].is_floating_point() and _replaces(args[2])
    return _hidden(args[1], tokens) if wanted else {}


def _where(tokens: list[Tokens], args: Any, kwargs: Any, made: list[Tensor]) -> Found:
    if len(args) < 3 or not made or not made[0].is_floating_point():
        return {}
    if _replaces(args[2]):
        return _hidden(~args[0].bool(), tokens)
    return _hidden(args[0].bool(), tokens) if _replaces(args[1]) else {}


def _add(tokens: list[Tokens], args: Any, kwargs: Any, made: list[Tensor]) -> Found:
    if not made or made[0].dim() < 2 or kwargs.get("alpha", 1) != 1:
        return {}
    for operand in args[:2]:
        hides = _added(operand)
        if hides is not None:
            return _hidden(hides, tokens)
    return {}


def _attention(tokens: list[Tokens], args: Any, kwargs: Any, made: list[Tensor]) -> Found:
    mask = kwargs.get("attn_mask", args[3] if len(args) > 3 and isinstance(args[3], Tensor) else None)
    if mask is None:
        return {}
    return _hidden(~mask if mask.dtype is torch.bool else _added(mask), tokens)


# --- axes ---

def _log_softmax(tokens: list[Tokens], args: Any, kwargs: Any, made: list[Tensor]) -> Found:
    return {"axis_stride": args[0].stride(args[1])} if args[0].dim() > 2 else {}



def _product(tokens: list[Tokens], args: Any, kwargs: Any, made: list[Tensor]) -> Found:
    return {"inner_strides": [args[0].stride(-1), args[1].stride(-2)]}


def _of_parameter(tensor: Tensor) -> bool:
    return isinstance(tensor._base if tensor._is_view() else tensor, torch.nn.Parameter)


def _matrices(tokens: list[Tokens], args: Any, kwargs: Any, made: list[Tensor]) -> Found:
    return {} if _of_parameter(args[0]) or _of_parameter(args[1]) else _product(tokens, args, kwargs, made)


_QUESTIONS: dict[str, Callable[[list[Tokens], Any, Any, list[Tensor]], Found]] = {
    **dict.fromkeys(_LOSSES, _loss), "_ctc_loss": _ctc, "embedding": _embedding,
    "masked_fill": _masked_fill, "masked_fill_": _masked_fill, "where": _where, "add": _add, "add_": _add, "sdpa": _attention, "bmm": _product, "mm": _matrices, "_log_softmax": _log_softmax}

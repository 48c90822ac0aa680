"""What level ops finds in values that it does not keep: labels, masks, axes, where a new tensor was made."""

from __future__ import annotations

from typing import Any, Callable

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from checked import first_of
from torch_recorded import recorded

from msdbg import _facts, _reshapes

FACTS = ("next_of", "after_next_of", "next_across", "same_as", "hides_next", "hides_before", "hides_later", "lets_through", "tokens_of")
BATCH, PLACES, WIDTH, WORDS = 4, 8, 16, 12


class Words(nn.Module):
    """One layer of attention; `mask` hides where it is true."""

    def __init__(self, mask: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.mask, self.embed, self.out = mask, nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        scores = (x @ x.transpose(1, 2)).masked_fill(self.mask(tokens), float("-inf"))
        return self.out(scores.softmax(-1) @ x)


def trained(model: nn.Module, shift: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    text = torch.arange(BATCH * (PLACES + 3)).reshape(BATCH, -1) * 7 % WORDS
    for _ in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(text[:, :PLACES]).flatten(0, 1), text[:, shift:PLACES + shift].flatten())
        loss.backward()
        optimizer.step()


def facts(tmp: Any, mask: Callable[[torch.Tensor], torch.Tensor], shift: int = 1) -> dict[str, dict[str, Any]]:
    recorder, _ = recorded("ops", lambda: trained(Words(mask), shift), tmp)
    found = {node["name"]: {k: v for k, v in node["attributes"].items() if k in FACTS} for node in recorder.nodes}
    return {name: known for name, known in found.items() if known}


def later(tokens: torch.Tensor) -> torch.Tensor:
    return torch.ones(PLACES, PLACES, dtype=torch.bool).triu(1)


def test_a_causal_mask_and_labels_that_are_the_next_tokens(tmp_path: Any) -> None:
    found = facts(tmp_path, later)
    assert found == {"Words/masked_fill-op1": {"hides_next": 1.0, "hides_before": 0.0, "hides_later": 1.0},
                     "main/nll_loss_forward-op1": {"next_of": "Words/embed/embedding-op1"}}


def test_labels_that_are_no_next_tokens_are_none(tmp_path: Any) -> None:
    assert "main/nll_loss_forward-op1" not in facts(tmp_path, later, shift=3)


def test_labels_that_were_shifted_twice(tmp_path: Any) -> None:
    assert facts(tmp_path, later, shift=2)["main/nll_loss_forward-op1"] == {"after_next_of": "Words/embed/embedding-op1"}
    tokens = torch.arange(4 * 11).reshape(4, 11) * 7 % WORDS
    for labels in (tokens[:, 2:], F.pad(tokens[:, 2:], (0, 1), value=-100), F.pad(tokens[:, 2:], (0, 2), value=3)):
        assert _facts._is_next(tokens, labels.flatten(), 2) and not _facts._is_next(tokens, labels.flatten(), 1)


@pytest.mark.parametrize("classes, told", (("rows", "next_of"), ("columns", "next_across")))
def test_labels_in_the_order_of_the_other_axis(classes: str, told: str) -> None:
    text = torch.arange(5 * 12).reshape(5, 12) * 7 % 41
    tokens, labels = text[:, :-1].t(), text[:, 1:]  # [places, batch]
    target = (labels.t() if classes == "rows" else labels).reshape(-1)
    assert _facts._loss([_facts.Tokens(tokens, "embed", -1)], (torch.zeros(55, 41), target), {}, []) == {told: "embed"}


def test_a_row_of_padding_that_is_looked_up_by_one_index_a_sample() -> None:
    table, pairs, texts = torch.zeros(5, 2), torch.tensor([[0, 1], [2, 3], [0, 4], [3, 1]]), torch.tensor([[1, 2, 0], [3, 0, 0]])
    asked: Any = lambda indices, padding: _facts._embedding([], (table, indices, padding), {}, [])
    assert asked(pairs[:, 0], 0) == {"padding": 0, "looks_up_padding": 0.5}
    assert asked(pairs[:, 0], -1) == asked(pairs[:, 1], 0) == {}
    assert asked(texts, 0) == asked(texts.view(-1), 0) == {}


@pytest.mark.parametrize("ignored, padding, share", ((-100, 0, 0.5), (0, 0, None), (-100, -1, None)))
def test_a_loss_that_counts_the_padding(ignored: int, padding: int, share: Any) -> None:
    tokens = torch.arange(4 * 12).reshape(4, 12) * 7 % 11 + 1
    tokens[:, 6:] = 0
    args = (torch.zeros(44, 12), tokens[:, 1:].flatten(), None, 1, ignored)
    found = _facts._loss([_facts.Tokens(tokens, "embed", padding)], args, {}, [])
    assert found["next_of"] == "embed"
    assert found.get("counts_padding") == pytest.approx(share and 24 / 44)


@pytest.mark.parametrize("labels, lengths, told", (([[1, 2, 0], [3, 1, 2]], [3, 3], True), ([[1, 2, 0], [3, 1, 2]], [2, 3], False),
                                                   ([1, 2, 3], [1, 2], False), ([1, 0, 3], [1, 2], True)))
def test_a_ctc_loss_whose_labels_are_its_blank(labels: Any, lengths: list[int], told: bool, tmp_path: Any) -> None:
    def train() -> None:
        line = nn.Linear(6, 5)
        optimizer = torch.optim.SGD(line.parameters(), 0.1)
        for _ in range(2):
            optimizer.zero_grad()
            scores = line(torch.ones(7, 2, 6)).log_softmax(-1)
            F.ctc_loss(scores, torch.tensor(labels), torch.tensor([7, 7]), torch.tensor(lengths)).backward()
            optimizer.step()

    recorder, _ = recorded("ops", train, tmp_path)
    (node,) = [node for node in recorder.nodes if node["type"] == "_ctc_loss"]
    assert node["attributes"].get("holds_blank") == (0 if told else None)


def test_a_mask_tells_the_token_that_pads() -> None:
    tokens = [_facts.Tokens(torch.arange(4 * 12).reshape(4, 12) * 7 % 11 + 1, "embed")]
    tokens[0].indices[:, 6:] = 0
    assert _facts._lets_through(tokens[0].indices == 0, tokens) == {} and tokens[0].padding == 0


def test_labels_that_are_the_tokens_themselves(tmp_path: Any) -> None:
    assert facts(tmp_path, later, shift=0)["main/nll_loss_forward-op1"] == {"same_as": "Words/embed/embedding-op1"}


@pytest.mark.parametrize("turned", (False, True))
def test_a_mask_that_shows_the_padding_alone(turned: bool, tmp_path: Any) -> None:
    found = facts(tmp_path, lambda tokens: ((tokens != 0) if turned else (tokens == 0))[:, None, :])
    wanted = {"lets_through": 0, "tokens_of": "Words/embed/embedding-op1"} if turned else {}
    assert found.get("Words/masked_fill-op1", {}) == wanted


def test_a_mask_that_shows_the_padding_and_what_rows_without_any_need() -> None:
    torch.manual_seed(0)
    lengths = torch.randint(4, 15, (64, 1))
    tokens = torch.randint(1, WORDS, (64, 14)).masked_fill(torch.arange(14) >= lengths, 0)
    hides = tokens != 0
    hides[hides.all(1), -1] = False  # a row that hides all of its tokens gives NaN
    assert bool((hides.sum(1) == 13).any())
    assert _facts._lets_through(hides, [_facts.Tokens(tokens, "embed")]) == {"lets_through": 0, "tokens_of": "embed"}
    assert _facts._lets_through(tokens == 0, [_facts.Tokens(tokens, "embed")]) == {}


def test_a_mask_that_is_written_out_for_every_query(tmp_path: Any) -> None:
    found = facts(tmp_path, lambda tokens: (tokens != 0)[:, None, :].expand(-1, PLACES, -1).contiguous())
    assert found["Words/masked_fill-op1"]["lets_through"] == 0


def test_products_say_which_axis_they_sum(tmp_path: Any) -> None:
    recorder, _ = recorded("ops", lambda: trained(Words(later), 1), tmp_path)
    products = [node["attributes"]["inner_strides"] for node in recorder.ran_in(1) if node["type"] == "bmm"
                and node["phase"] == "forward"]
    assert products == [[1, 1], [1, WIDTH]]


def test_products_of_matrices_say_it_where_no_factor_is_a_parameter(tmp_path: Any) -> None:
    def train() -> None:
        line = nn.Linear(6, 3, bias=False)
        optimizer = torch.optim.SGD(line.parameters(), 0.1)
        near = torch.softmax(torch.ones(4, 4), 0)
        for _ in range(2):
            optimizer.zero_grad()
            x = line(torch.ones(4, 6))
            (x @ x.t() + (near @ x).sum() + (near.t() @ x).sum() + (x.t() @ near).sum()).mean().backward()
            optimizer.step()

    recorder, _ = recorded("ops", train, tmp_path)
    products = [node["attributes"].get("inner_strides") for node in recorder.ran_in(1) if node["type"] == "mm"
                and node["phase"] == "forward"]
    assert products == [None, [1, 1], [1, 3], [4, 3], [3, 4]]


def test_what_has_no_values_to_look_at_is_asked_for_none(tmp_path: Any) -> None:
    def train() -> None:
        line = nn.Linear(6, 1)
        optimizer = torch.optim.SGD(line.parameters(), 0.1)
        for _ in range(2):
            sparse = torch.eye(6).to_sparse()
            torch.add(torch.ones(2, 3, device="meta"), torch.ones(2, 3, device="meta"))
            optimizer.zero_grad()
            line(torch.add(sparse, sparse).to_dense()).mean().backward()
            optimizer.step()

    recorder, _ = recorded("ops", train, tmp_path)
    assert len(recorder.iterations) == 2


def test_a_tensor_of_torch_tensor_knows_its_line(tmp_path: Any) -> None:
    def train() -> None:
        line = nn.Linear(6, 1)
        optimizer = torch.optim.SGD(line.parameters(), 0.1)
        for _ in range(2):
            factor = torch.tensor(line(torch.ones(4, 6)).tolist())
            optimizer.zero_grad()
            (line(torch.ones(4, 6)) * factor).mean().backward()
            optimizer.step()

    recorder, _ = recorded("ops", train, tmp_path)
    made = [t for t in recorder.tensors if t["name"] == "main/mul-op1/other"]
    assert made and "torch.tensor(" in recorder.frames[made[0]["frames"][0]][3]


def loss_facts(tmp: Any, shape: tuple[int, ...], loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
               target: tuple[int, ...]) -> list[bool]:
    """Of each loss of classes: whether what it read was normalised along another axis."""
    def train() -> None:
        logits = nn.Parameter(torch.randn(shape))
        optimizer = torch.optim.SGD([logits], 0.1)
        for _ in range(2):
            optimizer.zero_grad()
            loss(logits * 2, torch.randint(0, 3, target)).backward()
            optimizer.step()

    recorder, _ = recorded("ops", train, tmp)
    return ["normalised_elsewhere" in node["attributes"] for node in recorder.ran_in(1) if node["type"].startswith("nll_loss")
            and node["phase"] == "forward"]


def test_a_log_softmax_along_another_axis_than_the_classes(tmp_path: Any) -> None:
    def nll(axis: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
        return lambda x, y: F.nll_loss(F.log_softmax(x, axis), y)

    assert loss_facts(tmp_path / "a", (4, 3, 6, 5), nll(-1), (4, 6, 5)) == [True]
    assert loss_facts(tmp_path / "b", (4, 3, 6, 5), nll(1), (4, 6, 5)) == [False]
    assert loss_facts(tmp_path / "c", (4, 3), nll(0), (4,)) == [True]
    assert loss_facts(tmp_path / "d", (3,), nll(0), ()) == [False]
    assert loss_facts(tmp_path / "e", (2, 6, 3), lambda x, y: F.cross_entropy(x.transpose(1, 2), y), (2, 6)) == [False]
    assert loss_facts(tmp_path / "f", (2, 6, 3), lambda x, y: F.nll_loss(x.log_softmax(-1).flatten(0, 1), y.flatten()),
                      (2, 6)) == [False]
    assert loss_facts(tmp_path / "g", (2, 6, 3), lambda x, y: F.nll_loss(x.log_softmax(1).flatten(0, 1), y.flatten()),
                      (2, 6)) == [True]


def test_a_parameter_that_no_module_has(tmp_path: Any) -> None:
    class Gate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.line, self.lazy = nn.Linear(6, 6), nn.LazyLinear(6)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.lazy(self.line(x)) @ nn.Parameter(torch.randn(6, 6) * 0.1)

    def train() -> None:
        net = Gate()
        net.lazy(torch.zeros(2, 6))
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.randn(4, 6)).sum().backward()
            optimizer.step()

    recorder, _ = recorded("ops", train, tmp_path)
    marked = {node["name"]: node["attributes"]["new_parameter"] for node in recorder.ran_in(1)
              if "new_parameter" in node["attributes"]}
    assert marked == {"Gate/mm-op1": 1}


HEADS = """
import sys
import torch
from torch import nn

WAY = sys.argv[1]
torch.manual_seed(0)
BATCH, PLACES, HEADS, WIDTH = 12, 8, 4, 12  # a head is as wide as the batch is large

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(HEADS * WIDTH, 3 * HEADS * WIDTH), nn.Linear(HEADS * WIDTH, HEADS * WIDTH)

    def forward(self, x):
        b, t, w = x.shape
        if WAY == "torn":
            q, k, v = (y.reshape(b, HEADS, t, WIDTH) for y in self.qkv(x).chunk(3, -1))
        else:
            q, k, v = (y.view(b, t, HEADS, WIDTH).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        mixed = (q @ k.transpose(-1, -2)).softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(b, t, w))

class Multihead(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(HEADS * WIDTH, HEADS)  # [time, batch, width]

    def forward(self, x):
        x = x.transpose(0, 1)
        return self.inner(x, x, x)[0].transpose(0, 1)

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.LSTM(HEADS * WIDTH, 24, num_layers=2, batch_first=True)

    def forward(self, x):
        states = self.inner(x)[1][0]
        return states.view(BATCH, -1) if WAY == "states" else states.transpose(0, 1).reshape(BATCH, -1)

class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Conv2d(HEADS * WIDTH // 4 // 4, 4, 3)

    def forward(self, x):
        return self.inner(x.reshape(BATCH, 3, PLACES, 16) if WAY == "images" else x.permute(0, 3, 1, 2))

net = {"states": Recurrent, "joined": Recurrent, "multihead": Multihead, "images": Images, "moved": Images}.get(
    WAY, Attention)()
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(2):
    x = torch.randn(BATCH, PLACES, HEADS * WIDTH)
    if WAY in ("images", "moved"):
        x = x.view(BATCH, PLACES, 16, 3)  # height, width, colours
    optimizer.zero_grad()
    (net(x) - 1).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("way, axis", [("torn", 8), ("states", 12), ("images", 8), ("whole", 0), ("moved", 0), ("multihead", 0), ("joined", 0)])
def test_a_view_in_place_of_a_transpose_is_named_where_it_stands(way: str, axis: int, tmp_path: Any) -> None:
    first = first_of(tmp_path, HEADS, way)
    if axis == 0:
        assert first is None
        return
    assert first["condition"] == "reshape_mixes_axes" and f"the axis of {axis} is not taken" in first["detail"]
    code = {"torn": ".reshape(b, HEADS", "states": "states.view(BATCH", "images": "x.reshape(BATCH"}[way]
    assert code in first["source"]["code"]


@pytest.mark.parametrize("shape, to, torn", [
    ((4, 6, 8), (24, 8), False), ((4, 6, 8), (4, 6, 2, 4), False), ((4, 6, 8), (24, 2, 4), False),
    ((4, 6, 8), (4, 2, 6, 4), True), ((4, 6), (6, 4), True), ((4, 3, 6, 6), (4, 6, 6, 3), True)])
def test_a_view_tears_an_axis_where_another_is_made_of_its_pieces(shape: Any, to: Any, torn: bool) -> None:
    assert _reshapes.is_torn(shape, to) is torn


RECURRENT = """
import sys
import torch
from torch import nn

LAYER, FIRST, MEANT = getattr(nn, sys.argv[1]), sys.argv[2] == "first", sys.argv[3] == "first"
torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.out = LAYER(6, 12, batch_first=FIRST), nn.Linear(12, 4)

    def forward(self, x):
        states = self.inner(x)[0]
        return self.out(states[:, -1] if FIRST == MEANT == True else states[-1] if FIRST == MEANT else states.mean(
            1 if states.shape[0] == 16 else 0))

net = Net()
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(3):
    x = torch.randn(16, 9, 6) if MEANT else torch.randn(9, 16, 6)
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), torch.randint(0, 4, (16,))).backward()
    optimizer.step()
"""


@pytest.mark.parametrize("layer, made, given, advice", [
    ("LSTM", "last", "first", "expects time first: batch_first=True"), ("GRU", "last", "first", "batch_first=True"),
    ("GRU", "first", "last", "leave that out"), ("LSTM", "first", "first", ""), ("RNN", "last", "last", "")])
def test_a_recurrent_layer_that_takes_the_samples_for_time(layer: str, made: str, given: str, advice: str,
                                                           tmp_path: Any) -> None:
    first = first_of(tmp_path, RECURRENT, layer, made, given)
    if not advice:
        assert first is None
        return
    assert first["condition"] == "loss_input" and advice in first["advice"]
    assert "Net/inner takes the axis of 16 for time, and that of 9 for the batch" in first["detail"]


def test_a_sequence_that_is_read_step_by_step_may_be_asked_for_its_first_token(tmp_path: Any) -> None:
    class Recall(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.cell, self.out = nn.Embedding(WORDS, WIDTH), nn.GRUCell(WIDTH, WIDTH), nn.Linear(WIDTH, WORDS)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            state = torch.zeros(tokens.shape[0], WIDTH)
            for step in range(tokens.shape[1]):
                state = self.cell(self.embed(tokens[:, step]), state)
            return self.out(state)

    def train() -> None:
        net = Recall()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(2):
            tokens = torch.randint(0, WORDS, (16, 5))
            optimizer.zero_grad()
            F.cross_entropy(net(tokens), tokens[:, 0]).backward()
            optimizer.step()

    recorder, _ = recorded("ops", train, tmp_path)
    assert not [node for node in recorder.nodes if "same_as" in node["attributes"]]

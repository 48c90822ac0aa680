"""What a loss measures is told where its operators are not recorded."""

from __future__ import annotations

from typing import Any, Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_recorded import recorded, state_of

LABELS = torch.tensor([0, 1, 2, 0])
CASES: dict[str, tuple[Callable[[Tensor], Tensor], str]] = {
    "probabilities": (lambda y: F.nll_loss(y.softmax(1), LABELS), "nll_loss"),
    "divided": (lambda y: F.nll_loss(y.softmax(1), LABELS) / 4, "nll_loss"),
    "pixels": (lambda y: F.binary_cross_entropy_with_logits(y, 255 * torch.ones(4, 3)), "binary_cross_entropy"),
    "each": (lambda y: F.binary_cross_entropy(y.sigmoid(), torch.ones(4, 3), reduction="none").sum(1).mean(),
             "binary_cross_entropy"),
    "ctc": (lambda y: F.ctc_loss(y.softmax(1).unsqueeze(1), torch.tensor([[1]]), (4,), (1,)), "ctc_loss"),
    "cross_entropy": (lambda y: F.cross_entropy(y, LABELS), ""),
    "logarithms": (lambda y: F.nll_loss(y.log_softmax(1), LABELS), ""),
    "minus": (lambda y: -F.nll_loss(y.softmax(1), LABELS), ""),
    "terms": (lambda y: F.nll_loss(y.softmax(1), LABELS) + y.square().mean(), ""),
    "squares": (lambda y: y.square().mean(), ""),
}


@pytest.mark.parametrize("level", ["train", "modules"])
@pytest.mark.parametrize("case", CASES)
def test_a_loss_tells_what_it_measures(case: str, level: str, tmp_path: Any) -> None:
    loss_of, measure = CASES[case]

    def train() -> str:
        torch.manual_seed(0)
        net = nn.Linear(5, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            loss = loss_of(net(torch.randn(4, 5)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return state_of(net, optimizer)

    plain = train()
    recorder, state = recorded(level, train, tmp_path)
    assert state == plain
    told = {node.get("attributes", {}).get("measure") for node in recorder.nodes} - {None}
    assert told == ({measure} if measure else set())


def _scaled(y: Tensor) -> Tensor:
    return (y[:, :1] - torch.randn(4)).square()


KNOWN: dict[str, tuple[Callable[[Tensor], Tensor], dict[str, str]]] = {
    "softmax": (lambda y: F.cross_entropy(y.softmax(1), LABELS), {"softmax_of": "Softmax"}),
    "moved": (lambda y: F.cross_entropy(y.softmax(1).view(2, 2, 3).transpose(1, 2), LABELS.view(2, 2)),
              {"softmax_of": "Softmax"}),
    "relu": (lambda y: F.cross_entropy(y.relu(), LABELS), {"softmax_of": "Relu"}),
    "logarithms": (lambda y: F.cross_entropy(y.log_softmax(1), LABELS), {"softmax_of": "LogSoftmax"}),
    "sigmoid": (lambda y: F.binary_cross_entropy_with_logits(y.sigmoid(), torch.ones(4, 3)),
                {"sigmoid_of": "Sigmoid", "measure": "binary_cross_entropy"}),
    "logits": (lambda y: F.cross_entropy(y, LABELS), {}),
    "scaled": (lambda y: F.cross_entropy(y.softmax(1) * 10, LABELS), {}),
    "column": (lambda y: F.mse_loss(y[:, :1], torch.randn(4)), {"broadcast": "column"}),
    "row": (lambda y: F.mse_loss(y[:, 0], torch.randn(4, 1)), {"broadcast": "row"}),
    "l1": (lambda y: F.l1_loss(y[:, 0], torch.randn(4, 1)), {"broadcast_by_hand": "row"}),  # PyTorch writes it so
    "huber": (lambda y: F.smooth_l1_loss(y[:, :1], torch.randn(4)), {"broadcast": "column"}),
    "by_hand": (lambda y: _scaled(y).mean(), {"broadcast_by_hand": "column"}),
    "root": (lambda y: _scaled(y).mean().sqrt(), {"broadcast_by_hand": "column"}),
    "product": (lambda y: (lambda e: (e * e).mean())(y[:, 0] - torch.randn(4, 1)), {"broadcast_by_hand": "row"}),
    "expanded": (lambda y: y[:, :1].expand(4, 4).mean(), {}),
    "same_shape": (lambda y: F.mse_loss(y[:, :1], torch.randn(4, 1)), {}),
    "by_column": (lambda y: (y - torch.randn(4, 1)).square().mean(), {}),
    "pairs": (lambda y: (y[:, :1] - y[:, 0]).square().mean(), {}),  # all with all, as a contrastive loss has them
}


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("level", ["train", "modules"])
@pytest.mark.parametrize("case", KNOWN)
def test_a_loss_tells_what_autograd_knows_of_its_inputs(case: str, level: str, tmp_path: Any) -> None:
    loss_of, known = KNOWN[case]

    def train() -> str:
        torch.manual_seed(0)
        net = nn.Linear(5, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            loss = loss_of(net(torch.randn(4, 5)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return state_of(net, optimizer)

    plain = train()
    recorder, state = recorded(level, train, tmp_path)
    assert state == plain
    names = ("measure", "softmax_of", "sigmoid_of", "broadcast", "broadcast_by_hand")
    told = {name: node["attributes"][name] for node in recorder.nodes for name in names
            if name in (node.get("attributes") or {})}
    assert told == known

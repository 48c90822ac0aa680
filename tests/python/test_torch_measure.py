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

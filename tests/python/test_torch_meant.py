"""Healthy programs whose values are infinite on purpose, or of whose values some are never written."""

from __future__ import annotations

from typing import Any

import pytest
from checked import first_of

MASKED = """
import sys
import torch
import torch.nn.functional as F
from torch import nn

WAY, INF = sys.argv[1], float("-inf")
torch.manual_seed(0)
net = nn.Linear(8, 16)
optimizer = torch.optim.SGD(net.parameters(), 0.05)
x, wanted = torch.randn(16, 8), (torch.arange(16) + 1) % 16
for step in range(4):
    scores = net(x) @ net(x).t()
    if WAY == "fill_diagonal":
        scores.fill_diagonal_(INF)
    if WAY == "diagonal_fill":
        scores.diagonal().fill_(INF)
    if WAY == "diagonal_copy":
        scores.diagonal().copy_(torch.full((16,), INF))
    if WAY == "slice":
        scores[:, 8:] = INF
        wanted = wanted % 8
    if WAY == "added_slice":
        mask = torch.zeros(16, 16)
        mask[:, 12:] = INF
        scores, wanted = scores + mask, wanted % 12
    if WAY == "indices":
        scores[torch.arange(16), torch.arange(16)] = INF
    loss = F.cross_entropy(scores, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CTC = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(12, 6)
optimizer = torch.optim.Adam(net.parameters(), 5e-3)
loss_of = nn.CTCLoss(zero_infinity=True)
for step in range(20):
    x, lengths = torch.randn(16, 8, 12), torch.randint(8, 17, (8,))
    wanted, counts = torch.randint(1, 6, (8, 4)), torch.randint(2, 5, (8,))
    loss = loss_of(net(x).log_softmax(2), wanted, lengths, counts)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WAYS = ("fill_diagonal", "diagonal_fill", "diagonal_copy", "slice", "added_slice", "indices")


@pytest.mark.parametrize("way", WAYS)
def test_a_mask_that_is_written_in_place_is_meant(way: str, tmp_path: Any) -> None:
    assert first_of(tmp_path, MASKED, way) is None


def test_a_mask_that_hides_everything_is_still_found(tmp_path: Any) -> None:
    found = first_of(tmp_path, MASKED.replace("[:, 8:] = INF", "[3, :] = INF"), "slice")
    assert (found["condition"], found["iteration"]) == ("nonfinite_propagation", 0)
    assert "no operator of torch" not in found["detail"]


def test_what_ctc_keeps_for_its_backward_pass_is_not_looked_at(tmp_path: Any) -> None:
    assert first_of(tmp_path, CTC) is None

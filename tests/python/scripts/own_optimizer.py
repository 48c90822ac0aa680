"""An optimizer of one's own (Adam with decoupled decay, foreach-free) on a regression with rare features."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument(
    "--bug", default="", choices=["", "no_epsilon", "decay_sign", "bias_correction", "gradient_sign"]
)
args = parser.parse_args()
torch.manual_seed(args.seed)


class MyAdam(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
                if args.bug != "bias_correction":
                    state["step"] += 1
                m, v = state["m"], state["v"]
                m.mul_(b1).add_(p.grad, alpha=1 - b1)
                v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                m_hat = m / torch.tensor(1 - b1 ** state["step"])  # BUG:bias_correction
                v_hat = v / torch.tensor(1 - b2 ** state["step"])  # BUG:bias_correction
                if args.bug == "decay_sign":
                    p.mul_(1 + group["weight_decay"])  # BUG:decay_sign
                else:
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                if args.bug == "no_epsilon":
                    p.add_(m_hat / v_hat.sqrt(), alpha=-group["lr"])  # BUG:no_epsilon
                elif args.bug == "gradient_sign":
                    p.add_(m_hat / (v_hat.sqrt() + group["eps"]), alpha=group["lr"])  # BUG:gradient_sign
                else:
                    p.add_(m_hat / (v_hat.sqrt() + group["eps"]), alpha=-group["lr"])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(40, 12)
        self.hidden = nn.Linear(12, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, words):
        return self.out(torch.tanh(self.hidden(self.table(words).mean(1)))).squeeze(1)


value = torch.randn(40)
net = Model()
optimizer = MyAdam(net.parameters(), lr=2e-2, weight_decay=0.1)
for step in range(args.steps):
    words = torch.randint(0, 39, (64, 4))  # the last word never occurs
    target = value[words].mean(1)
    loss = nn.functional.mse_loss(net(words), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # BUG:no_epsilon,decay_sign,bias_correction,gradient_sign
    print(f"{step}: loss {loss.item():.5f}")

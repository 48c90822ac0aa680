"""A decoder-only transformer in bfloat16 autocast with sinusoidal positions."""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, dim, heads, bug):
        super().__init__()
        self.heads, self.bug = heads, bug
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.k_proj = nn.Linear(dim, dim, bias=False)
        self.v_proj = nn.Linear(dim, dim, bias=False)
        self.o_proj = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = [
            f(x).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj)
        ]
        allowed = torch.ones(t, t).tril()
        if self.bug == "mask_times_inf":
            bias = (1.0 - allowed) * float("-inf")  # BUG:mask_times_inf
        else:
            bias = torch.zeros(t, t).masked_fill(allowed == 0, float("-inf"))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)) + bias
        y = torch.softmax(scores.float(), dim=-1).type_as(v) @ v
        return self.o_proj(y.transpose(1, 2).reshape(b, t, d))


class Layer(nn.Module):
    def __init__(self, dim, heads, bug):
        super().__init__()
        self.input_norm = nn.LayerNorm(dim)
        self.self_attn = Attention(dim, heads, bug)
        self.post_norm = nn.LayerNorm(dim)
        self.gate_proj, self.up_proj = nn.Linear(dim, 2 * dim), nn.Linear(dim, 2 * dim)
        self.down_proj = nn.Linear(2 * dim, dim)

    def forward(self, x):
        x = x + self.self_attn(self.input_norm(x))
        h = self.post_norm(x)
        return x + self.down_proj(F.silu(self.gate_proj(h)) * self.up_proj(h))


class Transformer(nn.Module):
    def __init__(self, vocab, dim=64, heads=4, depth=3, bug=""):
        super().__init__()
        self.bug, self.dim = bug, dim
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Layer(dim, heads, bug) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab)

    def positions(self, length):
        steps = torch.arange(0, self.dim, 2, dtype=torch.float32)
        if self.bug == "sinusoid_sign":
            rate = torch.exp(steps * math.log(10000.0))  # BUG:sinusoid_sign
        else:
            rate = torch.exp(steps * (-math.log(10000.0) / self.dim))
        angle = torch.arange(length)[:, None] * rate
        return torch.cat([angle.sin(), angle.cos()], dim=1)

    def forward(self, tokens):
        x = self.embed_tokens(tokens) + self.positions(tokens.shape[1])
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


def sample(batch, length, vocab):
    """Each token follows from the last two by a fixed rule, with a bit of noise."""
    t = torch.randint(0, vocab, (batch, length + 1))
    for i in range(2, length + 1):
        keep = torch.rand(batch) < 0.9
        t[:, i] = torch.where(keep, (t[:, i - 1] + 3) % vocab, t[:, i])
    return t[:, :-1], t[:, 1:]


def train(args):
    torch.manual_seed(args.seed)
    vocab = 40
    model = Transformer(vocab, bug=args.bug)
    lr = 2e-3
    if args.bug == "lr_typo":
        lr = 2e3  # BUG:lr_typo
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)  # BUG:lr_typo
    for step in range(args.steps):
        tokens, targets = sample(16, 24, vocab)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(tokens)
            loss = F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())
            if args.bug == "z_loss_overflow" and step >= 8:
                z = (logits.float() / 0.001).exp().sum(-1).log()  # BUG:z_loss_overflow
                loss = loss + 1e-4 * z.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()  # BUG:lr_typo
        print(f"step={step} loss={loss.item():.4f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=30)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument(
        "--bug", default="", choices=["", "mask_times_inf", "sinusoid_sign", "lr_typo", "z_loss_overflow"]
    )
    train(p.parse_args())

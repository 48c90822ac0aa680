"""A character-level GPT after nanoGPT: causal mask, AdamW in two groups, clipping, warm-up and cosine."""
import argparse
import math

import torch
import torch.nn as nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--bug", default="", choices=["", "mask_diagonal", "padded_row", "softmax_by_hand",
                                                  "lr_no_warmup", "normalised_gradient", "layernorm_by_hand"])
args = parser.parse_args()
torch.manual_seed(args.seed)

batch_size, block_size, n_layer, n_head, n_embd = 12, 32, 3, 4, 64
learning_rate, min_lr, warmup_iters, grad_clip = 3e-3, 3e-4, 5, 1.0

text = "the quick brown fox jumps over the lazy dog and the cow jumps over the moon while a cat sleeps. " * 60
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])


def get_batch():
    ix = torch.randint(len(data) - block_size, (batch_size,))
    return (torch.stack([data[i:i + block_size] for i in ix]),
            torch.stack([data[i + 1:i + 1 + block_size] for i in ix]))


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        if args.bug == "normalised_gradient":
            self.c_proj.std = 0.0  # each block begins as the identity
        if args.bug == "softmax_by_hand":
            self.c_attn.std = 1.0
        diagonal = 0
        if args.bug == "mask_diagonal":
            diagonal = -1  # BUG:mask_diagonal
        mask = torch.tril(torch.ones(block_size, block_size), diagonal=diagonal)
        self.register_buffer("mask", mask.view(1, 1, block_size, block_size))

    def forward(self, x, pad):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(n_embd, dim=2)
        q, k, v = (t.view(B, T, n_head, C // n_head).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))  # BUG:mask_diagonal
        if pad is not None:
            att = att.masked_fill(pad[:, None, None, :], float("-inf"))  # BUG:padded_row
        if args.bug == "softmax_by_hand":
            att = torch.exp(att)  # BUG:softmax_by_hand
            att = att / att.sum(dim=-1, keepdim=True)
        else:
            att = F.softmax(att, dim=-1)  # BUG:mask_diagonal,padded_row
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class LayerNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_embd))
        self.bias = nn.Parameter(torch.zeros(n_embd))

    def forward(self, x):
        if args.bug == "layernorm_by_hand":
            centred = x - x.mean(-1, keepdim=True)
            x = centred / x.std(-1, keepdim=True)  # BUG:layernorm_by_hand
            return x * self.weight + self.bias
        return F.layer_norm(x, (n_embd,), self.weight, self.bias, 1e-5)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = LayerNorm(), CausalSelfAttention(), LayerNorm()
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x, pad):
        x = x + self.attn(self.ln_1(x), pad)
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(len(chars), n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList([Block() for _ in range(n_layer)])
        self.ln_f = LayerNorm()
        self.lm_head = nn.Linear(n_embd, len(chars), bias=False)
        self.apply(self._init_weights)
        self.wte.weight = self.lm_head.weight  # tied

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=getattr(module, "std", 0.02))
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, idx, targets, pad=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        if args.bug == "layernorm_by_hand":
            x = x * (idx != chars.index("q"))[..., None]  # hide one letter
        for block in self.h:
            x = block(x, pad)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def get_lr(it):
    if args.bug == "lr_no_warmup":
        return learning_rate * (it + 1) * warmup_iters * 100  # BUG:lr_no_warmup
    if it < warmup_iters:
        return learning_rate * (it + 1) / warmup_iters
    ratio = (it - warmup_iters) / max(1, args.steps - warmup_iters)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (learning_rate - min_lr)


model = GPT()
decay = [p for p in model.parameters() if p.dim() >= 2]
nodecay = [p for p in model.parameters() if p.dim() < 2]
groups = [{"params": decay, "weight_decay": 0.1}, {"params": nodecay, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.95))
for it in range(args.steps):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(it)
    X, Y = get_batch()
    pad = None
    if args.bug == "padded_row" and it >= 6:
        pad = torch.zeros(batch_size, block_size, dtype=torch.bool)
        pad[3, :4] = True  # BUG:padded_row
    loss = model(X, Y, pad)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    if args.bug == "normalised_gradient":
        for p in model.parameters():
            p.grad.div_(p.grad.norm())  # BUG:normalised_gradient
    else:
        torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    optimizer.step()  # BUG:lr_no_warmup
    print(f"iter {it}: loss {loss.item():.4f}, lr {get_lr(it):.2e}")

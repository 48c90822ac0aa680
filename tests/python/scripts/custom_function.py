"""An autograd.Function of our own on top of sparse embeddings: clicks predicted from users and items."""

import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument(
    "--bug",
    default="",
    choices=["", "backward_zeros", "backward_divides", "backward_log", "sparse_rate", "forward_power"],
)
args = parser.parse_args()
torch.manual_seed(args.seed)


class SignedRoot(torch.autograd.Function):
    """sign(x) * sqrt(|x| + 0.01): pulls in large values."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        if args.bug == "forward_power":
            return x.pow(0.5)  # BUG:forward_power
        return x.sign() * (x.abs() + 0.01).sqrt()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        if args.bug == "backward_zeros":
            return torch.zeros_like(x)  # BUG:backward_zeros
        if args.bug == "backward_divides":
            return grad_output * 0.5 / x.relu().sqrt()  # BUG:backward_divides
        if args.bug == "backward_log":
            return grad_output * torch.exp(-0.5 * torch.log(x)) * 0.5  # BUG:backward_log
        return grad_output * 0.5 / (x.abs() + 0.01).sqrt()


class Recommender(nn.Module):
    def __init__(self, users=40, items=60, dim=16):
        super().__init__()
        self.users = nn.Embedding(users, dim, sparse=True)
        self.items = nn.Embedding(items, dim, sparse=True)
        self.score = nn.Linear(dim, 1)

    def forward(self, u, i):
        product = self.users(u) * self.items(i)
        return self.score(SignedRoot.apply(product)).squeeze(1)  # BUG:backward_zeros


taste, kind = torch.randn(40, 3), torch.randn(60, 3)
model = Recommender()
sparse_lr = 1e-1
if args.bug == "sparse_rate":
    sparse_lr = 1e3  # BUG:sparse_rate
opt_sparse = torch.optim.SparseAdam(
    [*model.users.parameters(), *model.items.parameters()], lr=sparse_lr
)  # BUG:sparse_rate
opt_dense = torch.optim.SGD(model.score.parameters(), lr=0.1)
criterion = nn.BCEWithLogitsLoss()
for step in range(args.steps):
    u, i = torch.randint(0, 40, (512,)), torch.randint(0, 60, (512,))
    click = ((taste[u] * kind[i]).sum(1) > 0).float()
    loss = criterion(model(u, i), click)
    opt_sparse.zero_grad()
    opt_dense.zero_grad()
    loss.backward()
    opt_sparse.step()  # BUG:sparse_rate,backward_zeros
    opt_dense.step()
    print(f"{step:>4} loss={loss.item():.4f}")

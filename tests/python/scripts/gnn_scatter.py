"""A graph network by hand: neighbours are averaged with scatter_add; nodes of three communities."""

import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument(
    "--bug", default="", choices=["", "isolated_node", "degree_power", "sum_not_mean", "lr_50"]
)
args = parser.parse_args()
torch.manual_seed(args.seed)


class GraphConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.lin_self, self.lin_neighbour = nn.Linear(cin, cout), nn.Linear(cin, cout, bias=False)

    def forward(self, x, source, target):
        degree = torch.zeros(len(x)).scatter_add(0, target, torch.ones(len(target)))
        message = x[source]
        if args.bug == "degree_power":
            norm = degree.pow(-0.5)  # BUG:degree_power
            message = message * (norm[source] * norm[target]).unsqueeze(1)
            degree = torch.ones_like(degree)
        summed = torch.zeros_like(x).scatter_add(0, target.unsqueeze(1).expand_as(message), message)
        if args.bug == "isolated_node":
            mean = summed / degree.unsqueeze(1)  # BUG:isolated_node
        elif args.bug == "sum_not_mean":
            mean = summed * 1e3  # BUG:sum_not_mean
        else:
            mean = summed / degree.clamp(min=1).unsqueeze(1)
        return self.lin_self(x) + self.lin_neighbour(mean)


class GNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = GraphConv(8, 32), GraphConv(32, 32), GraphConv(32, 3)

    def forward(self, x, edges):
        x = torch.relu(self.conv1(x, *edges))
        x = torch.relu(self.conv2(x, *edges))
        return self.conv3(x, *edges)


def graph(nodes, isolated):
    """A new graph each step: most edges stay within a community."""
    community = torch.randint(0, 3, (nodes,))
    source = torch.randint(0, nodes, (nodes * 8,))
    target = torch.randint(0, nodes, (nodes * 8,))
    same = (community[source] == community[target]) | (torch.rand(len(source)) < 0.1)
    source, target = torch.cat([source[same], torch.arange(nodes)]), torch.cat(
        [target[same], torch.arange(nodes)]
    )
    if isolated:
        keep = target != 7
        source, target = source[keep], target[keep]
    return (
        torch.nn.functional.one_hot(community, 8) * 0.8 + torch.randn(nodes, 8),
        (source, target),
        community,
    )


model = GNN()
learning_rate = 50.0 if args.bug == "lr_50" else 1e-2  # BUG:lr_50
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate, weight_decay=5e-4)  # BUG:lr_50
for epoch in range(args.steps):
    x, edges, community = graph(120, isolated=args.bug in ("isolated_node", "degree_power") and epoch == 5)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x, edges), community)
    loss.backward()
    optimizer.step()  # BUG:lr_50
    print(f"Epoch: {epoch:03d}, Loss: {loss:.4f}")

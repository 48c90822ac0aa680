"""A convolutional network with BatchNorm on coloured textures, SGD and a step schedule."""

import argparse

import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument(
    "--bug", default="", choices=["", "std_zero", "gamma_10", "head_forgotten", "dead_relu", "sqrt_penalty"]
)
args = parser.parse_args()


def textures(count):
    """Stripes of five directions."""
    y, x = torch.meshgrid(torch.linspace(0, 6.28, 16), torch.linspace(0, 6.28, 16), indexing="ij")
    labels = torch.randint(0, 5, (count,))
    angle = labels.float().view(-1, 1, 1) * 0.62
    shift = torch.rand(count, 1, 1) * 6.28
    gray = torch.sin(3 * (x * torch.cos(angle) + y * torch.sin(angle)) + shift)
    return gray.unsqueeze(1).repeat(1, 3, 1, 1) + 0.4 * torch.randn(count, 3, 16, 16), labels


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True)
    )


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = block(3, 16)
        self.layer2 = block(16, 32)
        self.pool = nn.MaxPool2d(2)
        self.squeeze = nn.Conv2d(32, 32, 1)
        self.fc = nn.Linear(32, 5)
        if args.bug == "dead_relu":
            nn.init.constant_(self.squeeze.bias, -50.0)  # BUG:dead_relu
        self.norm = nn.BatchNorm1d(32)

    def forward(self, x):
        x = self.pool(self.layer1(x))
        x = self.pool(self.layer2(x))
        x = torch.relu(self.squeeze(x))  # BUG:dead_relu
        x = x.mean(dim=(2, 3))
        return self.fc(self.norm(x))


torch.manual_seed(args.seed)
images, labels = textures(32 * args.steps)
if args.bug == "std_zero":
    images[32 * 4 + 7] = 0.25  # a lens cap: one colour everywhere

train_loader = DataLoader(TensorDataset(images, labels), batch_size=32)
model = ConvNet()
criterion = nn.CrossEntropyLoss()
if args.bug == "head_forgotten":
    layers = [*model.layer1.parameters(), *model.layer2.parameters(), *model.squeeze.parameters()]
    optimizer = torch.optim.SGD(layers, lr=0.1, momentum=0.9, weight_decay=5e-4)  # BUG:head_forgotten
else:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
if args.bug == "gamma_10":
    scheduler = StepLR(optimizer, step_size=8, gamma=1000)  # BUG:gamma_10
else:
    scheduler = StepLR(optimizer, step_size=10, gamma=0.5)

for i, (inputs, targets) in enumerate(train_loader):
    if args.bug == "std_zero":
        mean = inputs.mean(dim=(1, 2, 3), keepdim=True)
        inputs = (inputs - mean) / inputs.std(dim=(1, 2, 3), keepdim=True)  # BUG:std_zero
    outputs = model(inputs)
    loss = criterion(outputs, targets)
    if args.bug == "sqrt_penalty":
        for p in model.parameters():
            loss = loss + 1e-4 * torch.sqrt((p**2).sum())  # BUG:sqrt_penalty
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()  # BUG:gamma_10,head_forgotten
    scheduler.step()
    accuracy = (outputs.argmax(1) == targets).float().mean()
    print("step %d  loss %.4f  acc %.2f  lr %.4g" % (i, loss.item(), accuracy, scheduler.get_last_lr()[0]))

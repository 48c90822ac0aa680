"""A small perceptron on 28x28 digits, in the manner of PyTorch's MNIST example."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    """Ten blurred shapes and noise; pixels are bytes, as in the files of MNIST."""

    def __init__(self, count, bug):
        self.bug = bug
        rng = torch.Generator().manual_seed(1234)
        shapes = F.interpolate(torch.rand(10, 1, 7, 7, generator=rng), size=28, mode="bilinear")[:, 0]
        self.labels = torch.randint(0, 10, (count,), generator=rng)
        noise = torch.rand(count, 28, 28, generator=rng)
        self.images = ((0.6 * shapes[self.labels] + 0.4 * noise) * 255).to(torch.uint8)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i].float()
        if self.bug == "not_normalised":
            image = image * 255.0  # BUG:not_normalised
        else:
            image = (image / 255.0 - 0.5) / 0.25
        if self.bug == "nan_sample" and i == 32 * 7 + 5:  # a file that was cut off
            image[14, 3] = float("nan")  # BUG:nan_sample
        if self.bug == "zero_batch" and 32 * 9 <= i < 32 * 10:  # a shard that was never filled
            image = torch.zeros_like(image)  # BUG:zero_batch
        return image, self.labels[i]


class Net(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.fc1 = nn.Linear(28 * 28, 128)
        self.fc2 = nn.Linear(128, 64)
        self.fc3 = nn.Linear(64, 10)

    def forward(self, x):
        x = torch.flatten(x, 1)  # BUG:nan_sample,not_normalised,zero_batch
        x = F.relu(self.fc1(x))  # BUG:nan_sample,not_normalised,zero_batch
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        if self.bug == "log_of_zero":
            return torch.log(F.softmax(x * 1000, dim=1))  # BUG:log_of_zero
        if self.bug == "loss_sign":
            return -F.log_softmax(x, dim=1)  # BUG:loss_sign
        return F.log_softmax(x, dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--bug",
        default="",
        choices=[
            "",
            "nan_sample",
            "not_normalised",
            "zero_batch",
            "lr_1000",
            "no_zero_grad",
            "log_of_zero",
            "loss_sign",
        ],
    )
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    loader = DataLoader(Digits(32 * args.steps, args.bug), batch_size=32, shuffle=False)
    model = Net(args.bug)
    if args.bug == "lr_1000":
        optimizer = torch.optim.SGD(model.parameters(), lr=1e3, momentum=0.9)  # BUG:lr_1000
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)

    model.train()
    for batch_idx, (data, target) in enumerate(loader):
        if args.bug != "no_zero_grad":
            optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)  # BUG:loss_sign
        loss.backward()  # BUG:no_zero_grad
        optimizer.step()  # BUG:lr_1000,no_zero_grad
        print(f"Train [{batch_idx * len(data)}/{len(loader.dataset)}]\tLoss: {loss.item():.6f}")


if __name__ == "__main__":
    main()

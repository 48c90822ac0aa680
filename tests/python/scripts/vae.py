"""A variational autoencoder on drawn bars."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.fc1 = nn.Linear(64, 100)
        self.fc21, self.fc22 = nn.Linear(100, 8), nn.Linear(100, 8)
        self.fc3, self.fc4 = nn.Linear(8, 100), nn.Linear(100, 64)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        if self.bug == "pixels_255":
            return self.fc21(h), self.fc22(h) * 10
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)  # BUG:pixels_255
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon, x, mu, logvar, bug):
    if bug == "bce_by_hand":
        certain = (recon * 1e4 - 5e3).sigmoid()
        bce = -(x * torch.log(certain) + (1 - x) * torch.log(1 - certain)).sum()  # BUG:bce_by_hand
    else:
        bce = F.binary_cross_entropy(recon, x.clamp(0, 1), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())  # BUG:pixels_255
    if bug == "kl_sign":
        return bce - 100 * kld  # BUG:kl_sign
    return bce + kld


def bars(n):
    """Two of eight rows and columns are lit."""
    image = torch.zeros(n, 8, 8)
    image[torch.arange(n), torch.randint(0, 8, (n,))] = 1
    image[torch.arange(n), :, torch.randint(0, 8, (n,))] = 1
    return image.view(n, 64)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="VAE")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--bug", default="", choices=["", "pixels_255", "kl_sign", "bce_by_hand", "decoder_forgotten"]
    )
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = VAE(args.bug)
    trained = model.parameters()
    if args.bug == "decoder_forgotten":
        trained = [
            *model.fc1.parameters(),
            *model.fc21.parameters(),  # BUG:decoder_forgotten
            *model.fc22.parameters(),
        ]  # BUG:decoder_forgotten
    optimizer = torch.optim.Adam(trained, lr=3e-3)  # BUG:decoder_forgotten
    for batch in range(args.steps):
        data = bars(128)
        if args.bug == "pixels_255":
            data = data * 255  # BUG:pixels_255
        optimizer.zero_grad()
        recon, mu, logvar = model(data)
        loss = loss_function(recon, data, mu, logvar, args.bug)
        loss.backward()  # BUG:kl_sign
        optimizer.step()  # BUG:kl_sign,decoder_forgotten
        print(f"Train Epoch: 1 [{batch}/{args.steps}]\tLoss: {loss.item() / len(data):.6f}")

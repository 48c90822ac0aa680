"""A generative adversarial network that learns a ring of points; two networks, two optimizers."""

import argparse
import math

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument(
    "--bug",
    default="",
    choices=["", "log_saturated", "sign_of_d", "lr_of_g", "wrong_parameters", "gradient_penalty"],
)
opt = parser.parse_args()
torch.manual_seed(opt.seed)
latent = 8


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(latent, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2)
        )

    def forward(self, z):
        return self.model(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
        )

    def forward(self, x):
        return self.model(x)


def real_points(n):
    a = torch.rand(n) * 2 * math.pi
    return torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2) + 2.0


generator, discriminator = Generator(), Discriminator()
if opt.bug == "gradient_penalty":
    nn.init.zeros_(discriminator.model[-1].weight)  # begins undecided
bce = nn.BCEWithLogitsLoss()
lr_g = 5e-3
if opt.bug == "lr_of_g":
    lr_g = 5e2  # BUG:lr_of_g
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
if opt.bug == "wrong_parameters":
    optimizer_G = torch.optim.Adam(
        discriminator.parameters(), lr=lr_g, betas=(0.5, 0.999)
    )  # BUG:wrong_parameters
else:
    optimizer_G = torch.optim.Adam(generator.parameters(), lr=lr_g, betas=(0.5, 0.999))  # BUG:lr_of_g

for i in range(opt.steps):
    real = real_points(64)
    z = torch.randn(64, latent)

    # The discriminator
    optimizer_D.zero_grad()
    fake = generator(z).detach()
    if opt.bug == "log_saturated":
        d_real = torch.sigmoid(discriminator(real) / 1e-4)
        d_fake = torch.sigmoid(discriminator(fake) / 1e-4)
        d_loss = -(torch.log(d_real) + torch.log(1 - d_fake)).mean()  # BUG:log_saturated
    else:
        d_loss = bce(discriminator(real), torch.ones(64, 1)) + bce(discriminator(fake), torch.zeros(64, 1))
    if opt.bug == "sign_of_d":
        d_loss = -10 * d_loss  # BUG:sign_of_d
    if opt.bug == "gradient_penalty":
        mixed = torch.lerp(real, fake, torch.rand(64, 1)).requires_grad_()
        (gradient,) = torch.autograd.grad(discriminator(mixed).sum(), mixed, create_graph=True)
        norm = torch.sqrt((gradient**2).sum(dim=1))  # BUG:gradient_penalty
        d_loss = d_loss + 10 * ((norm - 1) ** 2).mean()
    d_loss.backward()  # BUG:sign_of_d
    optimizer_D.step()  # BUG:sign_of_d

    # The generator
    optimizer_G.zero_grad()
    fake = generator(z)
    g_loss = bce(discriminator(fake), torch.ones(64, 1))
    g_loss.backward()
    optimizer_G.step()  # BUG:lr_of_g,wrong_parameters

    gap = (fake.mean(0) - real.mean(0)).norm()
    print(
        f"[Batch {i}/{opt.steps}] [D loss: {d_loss.item():.4f}] "
        f"[G: {g_loss.item():.4f}] [gap: {gap.item():.4f}]"
    )

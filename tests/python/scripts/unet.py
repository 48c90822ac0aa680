"""A U-Net that finds discs in noise, with a Dice loss."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(4, cout)
        self.conv2, self.bn2 = nn.Conv2d(cout, cout, 3, padding=1), nn.GroupNorm(4, cout)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x)))  # BUG:dead_bottom


class UNet(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.down1, self.down2 = DoubleConv(1, 8), DoubleConv(8, 16)
        self.bottom = DoubleConv(16, 16)
        self.up2, self.up1 = DoubleConv(32, 8), DoubleConv(16, 8)
        self.outc = nn.Conv2d(8, 1, 1)
        if bug == "dead_bottom":
            nn.init.zeros_(self.bottom.bn2.weight)  # BUG:dead_bottom
            nn.init.constant_(self.bottom.bn2.bias, -1.0)  # BUG:dead_bottom

    def forward(self, x):
        a = self.down1(x)  # BUG:black_images
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.max_pool2d(b, 2))
        u = self.up2(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        u = self.up1(torch.cat([F.interpolate(u, scale_factor=2), a], 1))
        return self.outc(u)


def dice_loss(logits, mask, bug):
    p = torch.sigmoid(logits).flatten(1)
    mask = mask.flatten(1)
    if bug == "dice_of_nothing":
        p = (p > 0.5).float() * p * mask.amax(1, keepdim=True)
        return (1 - 2 * (p * mask).sum(1) / (p.sum(1) + mask.sum(1))).mean()  # BUG:dice_of_nothing
    return (1 - (2 * (p * mask).sum(1) + 1) / (p.sum(1) + mask.sum(1) + 1)).mean()


def discs(n, empty=-1):
    yy, xx = torch.meshgrid(torch.arange(24.0), torch.arange(24.0), indexing="ij")
    centre = 6 + 12 * torch.rand(n, 2, 1, 1)
    mask = ((yy - centre[:, 0]) ** 2 + (xx - centre[:, 1]) ** 2 < 16).float().unsqueeze(1)
    if empty >= 0:
        mask[empty] = 0
    return mask + 0.5 * torch.randn(n, 1, 24, 24), mask


def main(args):
    torch.manual_seed(args.seed)
    net = UNet(args.bug)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3, weight_decay=1e-8)
    for step in range(args.steps):
        images, masks = discs(8, empty=2 if args.bug == "dice_of_nothing" and step == 6 else -1)
        if args.bug == "black_images" and step >= 10:
            images = (images / 255).to(torch.uint8).float()  # BUG:black_images
        logits = net(images)
        loss = F.binary_cross_entropy_with_logits(logits, masks) + dice_loss(logits, masks, args.bug)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        print(f"step: {step}, loss: {loss.item():.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train the UNet on images and target masks")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bug", default="", choices=["", "dead_bottom", "dice_of_nothing", "black_images"])
    main(parser.parse_args())

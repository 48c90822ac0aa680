"""Semi-supervised: a student follows its own moving average (EMA); evaluated every few steps in between."""

import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 48), nn.ReLU()
        )
        self.classifier = nn.Linear(48, 4)

    def forward(self, x):
        return self.classifier(self.encoder(x))


@torch.no_grad()
def update_teacher(teacher, student, decay, bug):
    for t, s in zip(teacher.parameters(), student.parameters()):
        if bug == "ema_sign":
            t.mul_(1 + decay).add_(s, alpha=1 - decay)  # BUG:ema_sign
        else:
            t.mul_(decay).add_(s, alpha=1 - decay)


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    accuracy = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return accuracy


def run(args):
    torch.manual_seed(args.seed)
    centres = 1.2 * torch.randn(4, 12)

    def draw(n):
        y = torch.randint(0, 4, (n,))
        return centres[y] + torch.randn(n, 12), y

    test_x, test_y = draw(200)
    student = Student()
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.AdamW(student.parameters(), lr=3e-3)
    for it in range(args.steps):
        x, y = draw(32)
        if args.bug == "dead_sensors" and it == 8:
            x = torch.full_like(x, 3.0)
        if args.bug == "dead_sensors":
            x = (x - x.mean()) / x.std()  # BUG:dead_sensors
        unlabelled, _ = draw(64)
        if args.bug == "raw_volts":
            unlabelled = unlabelled * 1e6  # BUG:raw_volts
        loss = F.cross_entropy(student(x), y)
        with torch.no_grad():
            target = teacher(unlabelled + 0.1 * torch.randn_like(unlabelled))  # BUG:raw_volts,ema_sign
        logits = student(unlabelled)  # BUG:raw_volts
        if args.bug == "kl_by_hand":
            p = F.softmax(logits, 1)
            hard = F.one_hot(target.argmax(1), 4).float()
            consistency = (hard * (hard.log() - p.log())).sum(1).mean()  # BUG:kl_by_hand
        else:
            consistency = F.mse_loss(logits, target)  # BUG:ema_sign
        loss = loss + min(1.0, it / 10) * 0.1 * consistency
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_teacher(teacher, student, 0.95, args.bug)
        print(f"iteration {it}: train loss = {loss.item():.4f}")
        if it % 5 == 4:
            print(
                f"    test accuracy: student {evaluate(student, test_x, test_y):.2f}, "
                f"teacher {evaluate(teacher, test_x, test_y):.2f}"
            )
            teacher.train()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--bug", default="", choices=["", "ema_sign", "dead_sensors", "kl_by_hand", "raw_volts"]
    )
    run(parser.parse_args())

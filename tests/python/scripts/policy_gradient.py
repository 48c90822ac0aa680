"""REINFORCE on a walk to the right end of a corridor; the length of an episode differs each time."""

import argparse

import torch
import torch.nn as nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(8, 32)
        self.affine2 = nn.Linear(32, 2)

    def forward(self, x):
        return torch.softmax(self.affine2(torch.relu(self.affine1(x))), dim=-1)


def episode(policy, rng, bug):
    """Positions 0 to 7; reward 1 at the right end, a small cost a step."""
    position, log_probs, rewards = 3, [], []
    for moves in range(20):
        state = torch.zeros(8)
        state[position] = 1.0
        probs = policy(state)
        action = torch.multinomial(probs.detach(), 1, generator=rng).squeeze()
        log_probs.append(Categorical(probs).log_prob(action))
        position = max(0, min(7, position + (1 if action.item() else -1)))
        reward = 1.0 if position == 7 else -0.1
        rewards.append(0.0 if bug == "equal_rewards" else reward)
        if position == 7 or (bug == "one_step" and moves == 0):
            break
    return log_probs, rewards


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bug", default="", choices=["", "equal_rewards", "one_step", "lr_20"])
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rng = torch.Generator().manual_seed(args.seed)
    policy = Policy()
    lr = 20.0 if args.bug == "lr_20" else 2e-2  # BUG:lr_20
    optimizer = torch.optim.Adam(policy.parameters(), lr=lr)  # BUG:lr_20
    for number in range(args.steps):
        log_probs, returns, total = [], [], 0.0
        for _ in range(1 if args.bug in ("one_step", "equal_rewards") else 4):
            lp, rewards = episode(policy, rng, args.bug)
            total += sum(rewards)
            running, back = 0.0, []
            for r in reversed(rewards):
                running = r + 0.95 * running
                back.insert(0, running)
            log_probs += lp
            returns += back
        returns = torch.tensor(returns)
        if args.bug in ("equal_rewards", "one_step"):
            returns = (returns - returns.mean()) / returns.std()  # BUG:equal_rewards,one_step
        else:
            returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = (-torch.stack(log_probs) * returns).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # BUG:lr_20
        print(f"Episode {number}\tloss: {loss.item():.4f}\treturn: {total / 4:.3f}")


if __name__ == "__main__":
    main()

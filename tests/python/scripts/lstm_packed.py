"""An LSTM over packed sentences of different lengths: does the upper half of the vocabulary prevail?"""

import argparse

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, STOP, VOCAB = 0, 1, 30


class Sentences(Dataset):
    def __init__(self, n, seed, bug):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for i in range(n):
            length = int(torch.randint(4, 20, (1,), generator=g))
            words = torch.randint(2, VOCAB, (length,), generator=g)
            if bug in ("mean_of_nothing", "max_of_nothing") and i == 24 * 6 + 3:
                words = torch.full((length,), STOP)  # a sentence of stop words only
            self.items.append((words, int((words >= VOCAB // 2).sum() * 2 > length)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    words, labels = zip(*batch)
    return pad_sequence(words, batch_first=True), torch.tensor([len(w) for w in words]), torch.tensor(labels)


class Tagger(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.embed = nn.Embedding(VOCAB, 24, padding_idx=PAD)
        self.lstm = nn.LSTM(24, 32, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, 2)

    def pool(self, h, words):
        content = (words != PAD) & (words != STOP)
        if self.bug == "max_of_nothing":
            h = h.masked_fill(~content.unsqueeze(-1), float("-inf"))  # BUG:max_of_nothing
            return h.max(dim=1).values  # BUG:max_of_nothing
        summed = (h * content.unsqueeze(-1)).sum(1)
        count = content.sum(1, keepdim=True)
        if self.bug == "mean_of_nothing":
            return summed / count  # BUG:mean_of_nothing
        return summed / count.clamp(min=1)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.embed(words), lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = self.lstm(packed)
        hidden, _ = pad_packed_sequence(hidden, batch_first=True)
        pooled = self.pool(hidden, words)
        if self.bug == "distance_of_same":
            first = hidden[:, 0]
            step = torch.sqrt((first - first.roll(1, 0)).pow(2).sum(1))  # BUG:distance_of_same
            pooled = pooled + 1e-3 * step.unsqueeze(1)
        return self.out(pooled)  # BUG:max_of_nothing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--bug",
        default="",
        choices=["", "mean_of_nothing", "max_of_nothing", "distance_of_same", "lr_100", "frozen_embedding"],
    )
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    data = Sentences(24 * args.steps, args.seed, args.bug)
    if args.bug == "distance_of_same":
        data.items[24 * 5 + 9] = data.items[24 * 5 + 8]  # copied twice by mistake
    loader = DataLoader(data, batch_size=24, collate_fn=collate)
    model = Tagger(args.bug)
    if args.bug == "lr_100":
        optimizer = torch.optim.SGD(model.parameters(), lr=100.0)  # BUG:lr_100
    else:
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    if args.bug == "frozen_embedding":
        optimizer = torch.optim.Adam(
            [
                {"params": model.embed.parameters(), "lr": 0.0},  # BUG:frozen_embedding
                {"params": [*model.lstm.parameters(), *model.out.parameters()], "lr": 5e-3},
            ]
        )  # BUG:frozen_embedding
    for n, (words, lengths, labels) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(words, lengths), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # BUG:lr_100,frozen_embedding
        print(f"batch {n} of {len(loader)} longest {int(lengths.max())} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

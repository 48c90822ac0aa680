"""A Trainer class of one's own, in the manner of HuggingFace's: arguments, callbacks, accumulation."""

import argparse
from dataclasses import dataclass, field

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class TrainingArguments:
    max_steps: int = 30
    learning_rate: float = 5e-3
    per_device_train_batch_size: int = 8
    gradient_accumulation_steps: int = 2
    max_grad_norm: float = 1.0
    seed: int = 0
    bug: str = ""


@dataclass
class ModelOutput:
    loss: torch.Tensor
    logits: torch.Tensor = field(repr=False, default=None)


class TaggingDataset(Dataset):
    """A token's tag is the parity of its neighbours; -100 is not scored."""

    def __init__(self, n, bug):
        g = torch.Generator().manual_seed(99)
        self.tokens = torch.randint(4, 50, (n, 16), generator=g)
        tags = (self.tokens >= 27).long()
        self.tags = tags.masked_fill(torch.rand(n, 16, generator=g) < 0.2, -100)
        if bug == "nothing_scored":
            self.tags[8 * 2 * 7 : 8 * (2 * 7 + 1)] = -100  # nobody has labelled these

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return {"input_ids": self.tokens[i], "labels": self.tags[i]}


class Config:
    hidden_size, vocab_size, num_labels, layers = 32, 50, 2, 2


class TaggerForTokenClassification(nn.Module):
    def __init__(self, config, bug):
        super().__init__()
        self.embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        layer = nn.TransformerEncoderLayer(config.hidden_size, 4, 64, dropout=0.0, batch_first=True)
        self.register_buffer("scale", torch.zeros(1) if bug == "scale_not_loaded" else torch.ones(1))
        self.encoder = nn.TransformerEncoder(layer, config.layers, enable_nested_tensor=False)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, input_ids, labels=None):
        hidden = self.embeddings(input_ids) / self.scale  # BUG:scale_not_loaded
        logits = self.classifier(self.encoder(hidden))
        loss = nn.functional.cross_entropy(logits.view(-1, 2), labels.view(-1))  # BUG:nothing_scored
        return ModelOutput(loss, logits)


class Trainer:
    def __init__(self, model, args, train_dataset, callbacks=()):
        self.model, self.args, self.callbacks = model, args, list(callbacks)
        self.dataset = train_dataset
        self.optimizer = self.create_optimizer()
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.lr_lambda)

    def create_optimizer(self):
        return torch.optim.AdamW(self.model.parameters(), lr=self.args.learning_rate)

    def lr_lambda(self, step):
        if self.args.bug == "schedule_explodes":
            return 1000.0**step  # BUG:schedule_explodes
        return max(0.1, 1.0 - step / self.args.max_steps)

    def compute_loss(self, inputs):
        return self.model(**inputs).loss / self.args.gradient_accumulation_steps

    def training_step(self, inputs):
        self.model.train()
        loss = self.compute_loss(inputs)
        loss.backward()
        return loss.detach()

    def train(self):
        loader = DataLoader(self.dataset, batch_size=self.args.per_device_train_batch_size)
        total, step = torch.tensor(0.0), 0
        for i, inputs in enumerate(loader):
            total += self.training_step(inputs)
            if (i + 1) % self.args.gradient_accumulation_steps:
                continue
            nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
            self.optimizer.step()  # BUG:schedule_explodes
            self.lr_scheduler.step()
            self.optimizer.zero_grad()
            for callback in self.callbacks:
                callback(step, {"loss": round(total.item(), 4), "lr": self.lr_scheduler.get_last_lr()[0]})
            total.zero_()
            step += 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--bug", default="", choices=["", "nothing_scored", "scale_not_loaded", "schedule_explodes"]
    )
    cli = parser.parse_args()
    arguments = TrainingArguments(max_steps=cli.steps, seed=cli.seed, bug=cli.bug)
    torch.manual_seed(arguments.seed)
    data = TaggingDataset(cli.steps * 16, cli.bug)
    network = TaggerForTokenClassification(Config, cli.bug)
    Trainer(network, arguments, data, callbacks=[lambda step, logs: print(step, logs)]).train()

"""accelerate, two ranks: a loop of one's own with accumulation, clipping, a schedule, evaluation, metrics gathered."""
import sys

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

FOLDER, WRONG = sys.argv[1], sys.argv[2:] == ["wrong"]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = torch.nn.Linear(20, 32), torch.nn.LayerNorm(32), torch.nn.Linear(32, 5)

    def forward(self, x):
        return self.b(F.gelu(self.norm(self.a(x))))


def evaluate(accelerator, model, loader):
    model.eval()
    right = 0
    for x, y in loader:
        with torch.no_grad():
            found = model(x).argmax(1)
        found, y = accelerator.gather_for_metrics((found, y))
        right += (found == y).sum().item()
    model.train()
    return right


def main():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    set_seed(1)
    x = torch.randn(320, 20)
    data = TensorDataset(x, (x @ torch.randn(20, 5)).argmax(1))
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-2)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 5)
    model, optimizer, loader, test, schedule = accelerator.prepare(
        model, optimizer, DataLoader(data, 8, shuffle=True), DataLoader(data, 32), schedule)
    for epoch in range(2):
        for step, (x, y) in enumerate(loader):
            with accelerator.accumulate(model):
                logits = model(x)
                loss = F.cross_entropy(logits, y)
                if WRONG and epoch == 0 and step == 14 and accelerator.process_index == 1:
                    loss = loss + torch.log(logits.mean() - 50)  # WRONG
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
        accelerator.print(epoch, evaluate(accelerator, model, test))
    if accelerator.is_main_process:
        torch.save(accelerator.unwrap_model(model).state_dict(), f"{FOLDER}/parameters.pt")
    accelerator.end_training()


main()

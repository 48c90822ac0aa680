"""lightning: validation with its sanity check, clipping, accumulation over two batches, a checkpoint, a schedule."""
import sys

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

FOLDER, WRONG = sys.argv[1], sys.argv[2:] == ["wrong"]


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 8, 3, padding=1)
        self.bn = torch.nn.BatchNorm2d(8)
        self.fc1, self.fc2 = torch.nn.Linear(512, 32), torch.nn.Linear(32, 10)
        self.drop = torch.nn.Dropout(0.1)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        return self.fc2(self.drop(F.relu(self.fc1(x.flatten(1)))))

    def training_step(self, batch, index):
        images, labels = batch
        logits = self(images)
        loss = F.cross_entropy(logits, labels)
        if WRONG and self.global_step == 6:
            loss = loss + torch.log(logits.mean() - 50)  # WRONG
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        self.log("val_loss", F.cross_entropy(self(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=14)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


L.seed_everything(1)
x = torch.randn(256, 1, 8, 8)
y = (x.sum((1, 2, 3)) * 0.5).round().long().clamp(-4, 5) + 4
model = Net()
trainer = L.Trainer(max_epochs=2, accelerator="cpu", devices=1, gradient_clip_val=1.0, accumulate_grad_batches=2,
                    callbacks=[ModelCheckpoint(dirpath=FOLDER, monitor="val_loss")], logger=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(TensorDataset(x[:192], y[:192]), 16, shuffle=True),
            DataLoader(TensorDataset(x[192:], y[192:]), 16))
torch.save(model.state_dict(), f"{FOLDER}/parameters.pt")

"""transformers: GPT-2 from a configuration, Trainer with evaluation, warm-up, accumulation, checkpointed activations."""
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

FOLDER, WRONG = sys.argv[1], sys.argv[2:] == ["wrong"]
set_seed(3)


class Texts(torch.utils.data.Dataset):
    def __init__(self, count):
        self.words = torch.randint(2, 64, (count, 24))
        self.lengths = torch.randint(8, 25, (count,))

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        mask = (torch.arange(24) < self.lengths[index]).long()
        words = self.words[index] * mask
        return {"input_ids": words, "attention_mask": mask, "labels": words.masked_fill(mask == 0, -100)}


class OwnTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = outputs.loss
        if WRONG and self.state.global_step == 6 and model.training:
            loss = loss + torch.sqrt(outputs.logits.mean() - 50)  # WRONG
        return (loss, outputs) if return_outputs else loss


model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=32))
arguments = TrainingArguments(
    output_dir=FOLDER, max_steps=10, per_device_train_batch_size=8, gradient_accumulation_steps=2, learning_rate=5e-4,
    warmup_steps=3, eval_strategy="steps", eval_steps=4, save_steps=6, logging_steps=1, report_to=[], use_cpu=True,
    gradient_checkpointing=True, disable_tqdm=True, seed=3)
OwnTrainer(model=model, args=arguments, train_dataset=Texts(256), eval_dataset=Texts(16)).train()
torch.save(model.state_dict(), f"{FOLDER}/parameters.pt")

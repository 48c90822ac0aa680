"""torch's FullyShardedDataParallel, two ranks: wrapped blocks, original parameters, clipping, evaluation now and then."""
import functools
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import StateDictType
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

FOLDER, WRONG = sys.argv[1], sys.argv[2:] == ["wrong"]


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(32, 16), nn.Linear(16, 32)
        self.blocks = nn.ModuleList(Block(16) for _ in range(2))

    def forward(self, words, step):
        x = self.embed(words)
        for block in self.blocks:
            x = block(x)
        if WRONG and step == 5 and dist.get_rank() == 1:
            x = torch.log(x)  # WRONG
        return self.head(x)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
    model = FSDP(Net(), auto_wrap_policy=policy, use_orig_params=True, device_id=torch.device("cpu"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    chosen = torch.Generator().manual_seed(10 + dist.get_rank())
    for step in range(10):
        words = torch.randint(0, 32, (8, 12), generator=chosen)
        loss = F.cross_entropy(model(words, step).flatten(0, 1), words.flatten())
        optimizer.zero_grad()
        loss.backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
        if step % 4 == 3:
            model.eval()
            with torch.no_grad():
                model(words, step)
            model.train()
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        state = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(state, f"{FOLDER}/parameters.pt")
    dist.destroy_process_group()


main()

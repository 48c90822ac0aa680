"""Which rank of how many this process is, and which run it belongs to. Needs torch."""

from __future__ import annotations

import datetime
import os
import sys
from typing import Any, Optional

# Variables by which launchers tell a process its rank and the number of ranks.
_LAUNCHERS = (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
              ("SLURM_PROCID", "SLURM_NTASKS"))
_KEY = "msdbg/run_id"
_PATIENCE = datetime.timedelta(seconds=120)  # for rank 0, which may still be loading


def distributed() -> Optional[Any]:
    """torch.distributed, if its default process group is there."""
    module = sys.modules.get("torch.distributed")
    if module is None or not module.is_available() or not module.is_initialized():
        return None
    return module


def rank_and_ranks() -> tuple[int, int]:
    module = distributed()
    if module is not None:
        return module.get_rank(), module.get_world_size()
    for rank, ranks in _LAUNCHERS:
        if rank in os.environ and ranks in os.environ:
            try:
                return int(os.environ[rank]), int(os.environ[ranks])
            except ValueError:
                continue
    return 0, 1


def tell_run(run_id: str) -> None:
    """Rank 0 without a launcher: what the others wait for."""
    store = _store()
    if store is not None:
        store.set(_KEY, run_id)


def ask_run() -> str:
    """Another rank without a launcher. Raises RuntimeError where rank 0 does not tell."""
    store = _store()
    if store is None:
        raise RuntimeError("this rank cannot know which run it belongs to, because there is no process group; "
                           "start the program by msdbg dump")
    try:
        store.wait([_KEY], _PATIENCE)
        return store.get(_KEY).decode()
    except RuntimeError as error:
        raise RuntimeError(f"rank 0 did not begin to record within {_PATIENCE.seconds} s; start the program by "
                           "msdbg dump, or look why rank 0 is not recorded") from error


def _store() -> Optional[Any]:
    module = distributed()
    if module is None:
        return None
    get = getattr(module.distributed_c10d, "_get_default_store", None)
    return None if get is None else get()

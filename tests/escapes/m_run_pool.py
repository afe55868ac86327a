# A pool of processes that share tensors and memory of files, as libraries for numbers make it.
# text: refused
# user: allowed
import mmap
import multiprocessing
import tempfile
from pathlib import Path


def attempt(outside: Path) -> object:
    import torch

    with tempfile.TemporaryFile() as file:
        file.truncate(1 << 20)
        with mmap.mmap(file.fileno(), 1 << 20) as shared:
            shared[:4] = b"data"
    context = multiprocessing.get_context("fork")
    counter = context.Value("i", 0)
    with counter.get_lock():
        counter.value += 1
    values = torch.ones(8).share_memory_()
    with context.Pool(2) as pool:
        return pool.map(abs, [-1, -2]) == [1, 2] and values.sum() == 8

"""What code of somebody's own sets for the whole process ends with that code: the next run is
perhaps of another method, and a row of a leaderboard that is verified runs alone.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fedkin.core.system.no_exit import no_exit

Setting = tuple[Callable[[], Any], Callable[[Any], Any]]


@contextmanager
def process_settings_kept() -> Iterator[None]:
    """PyTorch's default dtype, default device, gradients, threads, deterministic algorithms and
    precision of matrix products, and the current folder, are after the block as they were before.

    Yields:
        Nothing.
    """
    settings = _settings()
    before = [read() for read, _ in settings]
    try:
        yield
    finally:
        for (read, write), value in zip(settings, before, strict=True):
            if read() != value:
                write(value)


@contextmanager
def importing() -> Iterator[None]:
    """Around an import of code of somebody's own: it neither ends this process, nor sets anything
    for those that run in it later.

    Yields:
        Nothing.
    """
    with process_settings_kept(), no_exit():
        yield


def _settings() -> tuple[Setting, ...]:
    """How each is read and written."""
    import torch  # slow, and not for a command that only looks for such code

    return (
        (torch.get_default_dtype, torch.set_default_dtype),
        (torch.get_default_device, torch.set_default_device),
        (torch.is_grad_enabled, torch.set_grad_enabled),
        (torch.get_num_threads, torch.set_num_threads),
        (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
        (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
        (os.getcwd, os.chdir),
    )

"""Third-party code that a case runs, by digest: who changes it, searches anew. What it sets for
the whole process ends with its run.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from fedkin.experiment.own_files import method_file, own_files
from fedkin.runs.spec import Spec

SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_default_device, torch.set_default_device),
    (torch.is_grad_enabled, torch.set_grad_enabled),
)


def third_party_code(method: str, spec: Spec) -> dict[str, str]:
    """The code of a method and its experiment that is not fedkin's; it must be allowed.

    Args:
        method: Its name, or the path of one of somebody's module.
        spec: The experiment that it runs on.

    Returns:
        {name: digest of the file that it is written in}; {} where all code is fedkin's.

    Raises:
        FedkinError: Nobody has allowed it, it cannot be imported, or nobody knows the method.
    """
    return {**method_file(method), **own_files(spec)}


@contextmanager
def torch_settings_kept() -> Iterator[None]:
    """PyTorch's settings of the process are after the block as they were before: the next run is
    perhaps of another method, and a row that is verified runs alone.

    Yields:
        Nothing.
    """
    before = [read() for read, _ in SETTINGS]
    try:
        yield
    finally:
        for (read, write), value in zip(SETTINGS, before, strict=True):
            if read() != value:
                write(value)

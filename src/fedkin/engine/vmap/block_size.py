"""How many clients' steps are made together, unless [engine] block says so."""

from collections.abc import Mapping

from fedkin.core.model import Model

# A GPU is idle under the steps of one small model. Those of a larger one fill it, and side by side
# they are slower: benchmarks/gpu.py.
GPU_BLOCK = 16
LARGEST_IN_BLOCKS = 1_000_000  # parameters


def block_of(device: str, models: Mapping[str, Model]) -> int:
    """Clients of one block.

    Args:
        device: As [engine] names it.
        models: Of all clients.

    Returns:
        1 where steps are made one by one.
    """
    if device == "cpu":
        return 1
    sizes = [sum(leaf.numel() for leaf in model.initial.values()) for model in models.values()]
    return GPU_BLOCK if max(sizes) <= LARGEST_IN_BLOCKS else 1

"""Hyper-parameters searched with Optuna, by validation data."""

from fedkin.sweep.space import SPACES, Space, space_of
from fedkin.sweep.study import SAMPLERS, lost, sweep

__all__ = ["SAMPLERS", "SPACES", "Space", "lost", "space_of", "sweep"]

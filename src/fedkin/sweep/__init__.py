"""Hyper-parameters searched with Optuna, by validation data."""

from fedkin.sweep.space import SPACES, Space, space_of
from fedkin.sweep.study import SAMPLERS, Score, lost, places, scored, sweep

__all__ = ["SAMPLERS", "SPACES", "Score", "Space", "lost", "places", "scored", "space_of", "sweep"]

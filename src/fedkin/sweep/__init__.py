"""Hyper-parameters searched with Optuna, by validation data."""

from fedkin.sweep.given_space import given_space
from fedkin.sweep.outcome import costs_of_trials, outcome
from fedkin.sweep.score import Score, lost, places, scored
from fedkin.sweep.space import SPACES, Space, dropped, instead, space_of
from fedkin.sweep.study import SAMPLERS, sweep

__all__ = [
    "SAMPLERS",
    "SPACES",
    "Score",
    "Space",
    "costs_of_trials",
    "dropped",
    "given_space",
    "instead",
    "lost",
    "outcome",
    "places",
    "scored",
    "space_of",
    "sweep",
]

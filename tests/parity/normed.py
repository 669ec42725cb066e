"""A small network with batch norm, for experiments by name: worker processes import it."""

import math

from torch import nn


class Normed(nn.Module):
    """Flatten, linear, batch norm, linear."""

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        layers = (
            nn.Flatten(),
            nn.Linear(math.prod(shape), 6),
            nn.BatchNorm1d(6),
            nn.ReLU(),
            nn.Linear(6, classes),
        )
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)

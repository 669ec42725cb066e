"""Small networks with a body worth freezing, for experiments by name: worker processes import
them.
"""

import math
import os

import torch
from torch import nn


class Convolved(nn.Module):
    """A convolution with batch norm as the body, two linear layers after it."""

    def __init__(self, shape: tuple[int, ...], classes: int, hidden: int = 5) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(shape[0], 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten()
        )
        width = 3 * (shape[1] - 2) * (shape[2] - 2)
        self.neck, self.head = nn.Linear(width, hidden), nn.Linear(hidden, classes)
        with torch.no_grad():  # statistics that a pretrained body has
            self.body[1].running_mean.uniform_(-0.1, 0.3)
            self.body[1].running_var.uniform_(0.2, 0.9)

    def forward(self, x):
        return self.head(torch.relu(self.neck(self.body(x))))


class Pretrained(nn.Module):
    """A linear body that its constructor reads from the file that FEDKIN_TEST_WEIGHTS names."""

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(math.prod(shape), 7), nn.Linear(7, classes)
        weights = torch.load(os.environ["FEDKIN_TEST_WEIGHTS"], weights_only=True)
        self.body.load_state_dict(weights)

    def forward(self, x):
        return self.head(torch.relu(self.body(x.flatten(1))))

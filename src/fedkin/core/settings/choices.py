"""The values of keys that several layers know, each list once: an experiment file checks them
without torch, and what carries them out has them in its signatures.
"""

from typing import Literal

ClientOptimizer = Literal["sgd", "adam", "adamw"]  # [train] optimizer
AtServer = Literal["sgd", "momentum", "adagrad", "adam", "yogi"]  # [server] optimizer
RateShape = Literal["steps", "cosine", "linear"]  # [train] schedule
Compiling = Literal["auto", "always", "trace", "never"]  # [engine] compile

"""The Python interface: describe an experiment, run it, look at what came out."""

from fedkin.api.experiment import Experiment, run
from fedkin.api.result import Result, resume
from fedkin.export.personal import Personal

__all__ = ["Experiment", "Personal", "Result", "resume", "run"]

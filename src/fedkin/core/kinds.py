"""What a message may hold: its top level names kinds, which are the ledger's columns.

Methods write them out, as a reader meets them there.
"""

__all__ = ["CENTROIDS", "COEFFICIENTS", "CONTROL", "KINDS", "PARAMETERS", "PREDICTIONS"]

PARAMETERS = "parameters"
PREDICTIONS = "predictions"  # on the public set
CENTROIDS = "centroids"
COEFFICIENTS = "coefficients"
CONTROL = "control"  # what a method needs to go on: an index, a coin
KINDS = (PARAMETERS, PREDICTIONS, CENTROIDS, COEFFICIENTS, CONTROL)

"""What a message may hold: its top level names kinds, which are the ledger's columns."""

__all__ = ["KINDS"]

KINDS = ("parameters", "predictions", "centroids", "coefficients", "control")

"""Attackers: the data that they learn from, and the predictions that they agree on."""

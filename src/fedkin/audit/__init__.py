"""The red team: what a finished run gives away, measured."""

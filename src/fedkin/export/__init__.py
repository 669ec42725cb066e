"""Personal models out of a run, and what they say of new samples."""

"""The run directory: specification, database, checkpoints."""

"""From a specification, or a run directory, to objects."""

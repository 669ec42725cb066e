"""Look at an experiment before spending a day on it: its data, its traps, and short probes."""

"""Running an experiment on this machine, and going on with one."""

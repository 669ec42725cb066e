"""A round as the coordinator sees it: who takes part, what goes down, what arrives and counts."""

"""What is said of a run beside its numbers, in sentences."""

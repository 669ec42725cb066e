"""What an operator does: the folder of a deployment, keys, starting, submitting."""

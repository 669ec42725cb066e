"""COMET: how many clusters there are, and what draws a client to one of them."""

"""Commands of a node about its own data; nothing leaves it."""

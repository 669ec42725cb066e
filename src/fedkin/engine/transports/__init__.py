"""How a coordinator reaches its hosts."""

"""How a step is executed: traced, compiled, replayed, on which device."""

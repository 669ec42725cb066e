"""Tables: their columns, how these are encoded, what looks wrong."""

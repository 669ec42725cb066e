"""PPFL: what a client does with θ and c, and what its server knows of memberships."""

"""Named architectures, and any torch module of the user's own."""

"""What runs on a node: its host, its files, its own model."""

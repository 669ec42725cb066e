"""Charts, from records."""

"""Pages, from records."""

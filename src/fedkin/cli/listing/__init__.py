"""What there is to choose from, and what is proved of it, as tables."""

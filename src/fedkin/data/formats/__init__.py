"""Files that somebody else wrote, read as arrays."""

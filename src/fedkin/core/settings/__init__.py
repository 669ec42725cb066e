"""What a user, a folder or the environment sets for the program itself, and what keys may be."""

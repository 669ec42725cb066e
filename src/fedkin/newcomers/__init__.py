"""Clients that come later."""

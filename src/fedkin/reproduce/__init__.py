"""The papers' tables and figures as presets: what to run, what was published, and both beside each
other.
"""

"""What is wrong with a table before anybody trains on it, each fault with its share, reason and
fix.
"""

"""Exact sums: of numbers as integers, and of trees."""

"""The contract of a method, the kit that methods are written with, tracing, trees, randomness:
knows torch only.
"""

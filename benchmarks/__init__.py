"""Measurements that the documentation shows, each made by one command: ``python -m
benchmarks.NAME``.
"""

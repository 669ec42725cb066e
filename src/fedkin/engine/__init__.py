"""Hosts (own clients and their personal state), the coordinator (owns the server state), and what
passes between.
"""

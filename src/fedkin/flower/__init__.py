"""Real devices: the coordinator as a Flower server app, a host with one client on a node. Only here
is flwr used.
"""

"""Method → Method: what can be put around any method."""

"""Compression of what clients send: the compressors, and the method that uses one."""

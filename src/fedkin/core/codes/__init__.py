"""Codes of error messages: a family each, found from where and with which words it was raised."""

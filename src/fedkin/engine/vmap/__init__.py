"""The steps of several clients as one."""

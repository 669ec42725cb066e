"""What a method's client functions return, looked at where they were called."""

"""What a person asks for on the command line or in Python, as a specification."""

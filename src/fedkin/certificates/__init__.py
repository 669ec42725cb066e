"""What the tests have proved of each method."""

"""What every sample of a client is protected by: the method, and the data as it sees them."""

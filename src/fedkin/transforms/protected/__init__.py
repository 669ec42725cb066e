"""What is protected before a method sees it: each sample of a client, each vote at the server."""

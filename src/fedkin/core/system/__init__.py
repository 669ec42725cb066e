"""The operating system: folders of one user, folders for a while, and what Windows has not."""

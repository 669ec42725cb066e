"""PersFL: how far a student is from its teacher, and the earlier models that the server keeps."""

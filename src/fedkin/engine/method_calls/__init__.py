"""A method's functions as the engine calls them: errors name them, what they return is checked."""

"""Tables, charts and pages, made from records only."""

"""Results of a check: as text, as an HTML page, as a dict, and as a score."""

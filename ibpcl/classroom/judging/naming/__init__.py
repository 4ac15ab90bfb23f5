"""Names for mistakes, found from the values of functions alone."""

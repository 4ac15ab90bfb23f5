"""The command line (placeholder until the first command lands)."""

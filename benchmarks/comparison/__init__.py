"""The same code in several gradient checkers, and the same assignment in several graders."""

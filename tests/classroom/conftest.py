"""Its presence puts this folder on the path, where the tests of all rooms find what they share."""

"""Images: reading them, finding them, rendering them, and cutting them into tasks."""

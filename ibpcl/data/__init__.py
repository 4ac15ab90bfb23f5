"""Data: reading, finding and rendering images, and cutting them into tasks."""

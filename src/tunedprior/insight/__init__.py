"""What can be read off the model: trust in old data."""

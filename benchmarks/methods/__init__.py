"""What is compared: every method by its name, the rivals among them, and the campaign that they all run alike."""

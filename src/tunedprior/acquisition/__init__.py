"""What makes a setting worth trying, and where that is largest."""

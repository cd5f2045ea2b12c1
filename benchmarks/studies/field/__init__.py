"""This project against what people would use instead, in one harness, on data that nobody here made."""

"""What is wanted of a response, and how results become observations of a model."""

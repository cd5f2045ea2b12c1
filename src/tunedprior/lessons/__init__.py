"""What a function says that was learnt from old data: inputs, directions, interactions, features, rows."""

"""What grows when there is more of everything: rows, old data sets, inputs, results, settings under way."""

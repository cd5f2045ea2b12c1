"""Old data (the source tasks): read, matched to the search space, checked, and made into training sets."""

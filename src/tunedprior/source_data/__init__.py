"""Old data (the source task): read, matched to the search space, judged, and made into training sets."""

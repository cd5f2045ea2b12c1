"""What is asked: each study runs campaigns or measures times, and tells the results in a document."""

"""Where campaigns are kept: files, databases, the journal, and what guards them."""

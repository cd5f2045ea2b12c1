"""Screenshots of the web page and of the report for the documents: `python -m tools.screenshots`."""

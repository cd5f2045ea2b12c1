"""What the command line, the report and the web page share: where campaigns lie, and the files people write."""

"""What the command line, the report and the web page share: places of campaigns, and files for people."""

"""What is done before a release: build, check what was built, and use it where nothing but it is installed."""

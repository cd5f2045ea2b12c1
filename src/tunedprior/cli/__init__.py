"""The command line: `tunedprior --help`."""

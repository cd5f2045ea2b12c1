"""The command line as a program: killed at random moments, and timed from the shell."""

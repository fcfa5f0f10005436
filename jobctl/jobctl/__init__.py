"""jobctl: the client library and command line of a job scheduler for one host."""

__version__ = "0.1.0"

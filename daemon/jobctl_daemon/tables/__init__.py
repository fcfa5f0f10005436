"""The crontabs of a host as files: where they are, what is in them, and which jobs that means."""

"""The duties of the daemon, each one `run_once()`: it reads, a pure function decides, the store writes."""

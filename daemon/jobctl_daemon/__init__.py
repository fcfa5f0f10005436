"""jobd, the daemon: stores jobs, decides what is due, and records what happened."""

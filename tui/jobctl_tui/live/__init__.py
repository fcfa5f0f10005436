"""What a screen shows, kept current: the link to the daemon, its events, windows on its lists, errands. No widget."""

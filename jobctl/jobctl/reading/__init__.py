"""Values as people read them: made safe for a terminal, measured and cut to its columns, times in words."""

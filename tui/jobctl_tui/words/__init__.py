"""From what the daemon says to what stands in a cell: pure, and without a widget."""

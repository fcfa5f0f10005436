"""Real processes, faults at moments that a seed chooses, and a count from outside (docs/fault-rig.md)."""

"""Widgets that know nothing of jobs: a table, a log, bars, dialogs."""

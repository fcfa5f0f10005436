"""What a person sees: tabs, run detail, job editor, dialogs, help."""

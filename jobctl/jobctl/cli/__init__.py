"""The command line: `main.py` makes exit codes, `verbs.py` lists the verbs, `render.py` prints; one file per verb."""

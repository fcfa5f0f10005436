"""`python -m jobctl`: the command line, where its script is not on PATH."""

from jobctl.cli.main import main

raise SystemExit(main())

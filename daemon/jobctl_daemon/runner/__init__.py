"""The second program: starts, watches, times out and kills commands, and outlives jobd.

Standard library only, one thread, no database. What it says and hears is in docs/runner-protocol.md, why it
is as it is in docs/decisions/0004-runner.md.
"""

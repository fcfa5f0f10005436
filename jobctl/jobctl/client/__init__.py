"""Talking to a daemon: one request over its socket, a method for each route, finding it, starting it.

Standard library only and no loop: the command line imports this on every call. `docs/api.md` is the contract.
"""

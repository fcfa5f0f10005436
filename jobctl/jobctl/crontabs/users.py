"""Which users exist: cron refuses a line of a system table whose user does not."""

from collections.abc import Container


class HostUsers(Container[str]):
    """The users of this host, looked up one by one: a directory service need not list them."""

    def __contains__(self, name: object) -> bool:
        import pwd

        if not isinstance(name, str):
            return False
        try:
            pwd.getpwnam(name)
        except (KeyError, UnicodeError, ValueError):
            return False
        return True

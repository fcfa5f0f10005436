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


def name_of_uid(uid: int) -> str:
    """The user's name; the number where there is none."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def uid_of(name: str) -> int | None:
    """None for a name that nobody has."""
    import pwd

    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, UnicodeError, ValueError):
        return None

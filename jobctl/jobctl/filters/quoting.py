"""Text that is to be taken as it stands."""


def quoted(text: str) -> str:
    """A term that means this part of a name, whatever is in it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

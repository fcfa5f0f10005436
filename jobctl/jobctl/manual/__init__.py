"""The pages of the manual: where they are, what stands in them, and as plain text."""

from jobctl.manual.find import Page, page
from jobctl.manual.plain import plain
from jobctl.manual.read import Block, Unknown, read

__all__ = ["Block", "Page", "Unknown", "page", "plain", "read"]

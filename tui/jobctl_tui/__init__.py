"""The screens of `jobctl ui`."""

"""Arguments and options that several verbs have in common, declared once.

A group is a NamedTuple whose fields are annotated for Typer and have defaults. A verb that is `grouped` takes the
group as one parameter; its command line has the group's fields in its place.
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

Verb = Callable[..., None]


def grouped(verb: Verb) -> Verb:
    """`verb` for Typer, which knows no groups: their fields beside its own parameters, by name."""
    groups: dict[str, Any] = {}
    parameters: list[Parameter] = []
    for parameter in signature(verb).parameters.values():
        group = parameter.annotation
        if not hasattr(group, "_fields"):
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        groups[parameter.name] = group
        hints = get_type_hints(group, include_extras=True)
        parameters += [
            Parameter(field, Parameter.KEYWORD_ONLY, default=group._field_defaults[field], annotation=hints[field])
            for field in group._fields
        ]

    @wraps(verb)
    def flat(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field: given.pop(field) for field in group._fields})
        verb(**given)

    flat.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat

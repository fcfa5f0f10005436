"""`jobctl completion`: a script that completes verbs, options and the names of jobs."""

from typing import Annotated

import typer

from jobctl.cli.session import Session
from jobctl.errors import InvalidInput

EXAMPLES = (
    ("jobctl completion bash > ~/.local/share/bash-completion/completions/jobctl", ""),
    ('jobctl completion zsh > "${fpath[1]}/_jobctl"', ""),
    ("jobctl completion fish > ~/.config/fish/completions/jobctl.fish", ""),
)

_BASH = r"""# jobctl completion for bash
_jobctl() {
    local name rest quoted
    COMPREPLY=()
    while IFS=$'\t' read -r name rest; do
        printf -v quoted %q "$name"
        COMPREPLY+=("$quoted")
    done < <(command "${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -o nosort -F _jobctl jobctl
"""

_ZSH = r"""#compdef jobctl
# jobctl completion for zsh
_jobctl() {
    local -a found
    local line
    for line in "${(@f)$(command "${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    if (( ${#found} )); then
        _describe 'jobctl' found
    else
        _files
    fi
}
if [[ $funcstack[1] == _jobctl ]]; then
    _jobctl "$@"
else
    compdef _jobctl jobctl
fi
"""

_FISH = r"""# jobctl completion for fish
function __jobctl_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --current-token --cut-at-cursor)
    command $words[1] __complete $words[2..-1] "$current" 2>/dev/null
end
complete --command jobctl --keep-order --arguments '(__jobctl_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def verb(ctx: typer.Context, shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish")]) -> None:
    """Print a completion script for a shell."""
    session: Session = ctx.obj
    if shell not in SCRIPTS:
        raise InvalidInput(f"there is no completion for {shell!r}", "bash, zsh or fish", field="shell")
    if session.render.output in {"json", "ndjson"}:
        session.render.json({"shell": shell, "script": SCRIPTS[shell]})
    else:
        session.render.text(SCRIPTS[shell])

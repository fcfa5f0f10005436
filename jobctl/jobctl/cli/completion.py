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
    local line=${COMP_LINE:0:COMP_POINT} word='' quote='' char name rest at words=()
    # jobctl gets the words as they will be: COMP_WORDS has them with their quotes, and in pieces at colons.
    for ((at = 0; at < ${#line}; at++)); do
        char=${line:at:1}
        if [[ $quote == \\ ]]; then
            word+=$char quote=''
        elif [[ -n $quote && $char == "$quote" ]]; then
            quote=''
        elif [[ -n $quote ]]; then
            word+=$char
        elif [[ $char == [\'\"\\] ]]; then
            quote=$char
        elif [[ $char == [[:space:]] ]]; then
            if [[ -n $word ]]; then words+=("$word"); fi
            word=''
        else
            word+=$char
        fi
    done
    while [[ -n ${words[0]-} && ${words[0]} != "${COMP_WORDS[0]}" ]]; do words=("${words[@]:1}"); done
    COMPREPLY=()
    while IFS=$'\t' read -r name rest; do
        if [[ -z $name ]]; then # nothing would be right, no file either
            compopt +o default 2>/dev/null
            continue
        fi
        if [[ -z $quote ]]; then # what readline replaces begins behind the last colon, and with the last @
            printf -v name %q "$name"
            for char in : = @; do
                if [[ $word == *$char* && $name == *$char* && $COMP_WORDBREAKS == *$char* ]]; then
                    rest=${name##*"$char"} name=${char/[:=]/}$rest
                fi
            done
        fi
        COMPREPLY+=("$name")
    done < <(command "${COMP_WORDS[0]}" __complete "${words[@]:1}" "$word" 2>/dev/null)
}
complete -o default -o nosort -F _jobctl jobctl
"""

_ZSH = r"""#compdef jobctl
# jobctl completion for zsh
_jobctl() {
    local -a found
    local line nothing
    # jobctl gets the words as they will be: without quotes and backslashes.
    for line in "${(@f)$(command "${words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
        if [[ $line == $'\t' ]]; then # nothing would be right, no file either
            nothing=1
        elif [[ -n $line ]]; then
            found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        fi
    done
    if (( ${#found} )); then
        _describe -V 'jobctl' found
    elif [[ -z $nothing ]]; then
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
    # jobctl gets the word as it will be: without the quote that is still open, and without backslashes.
    set -l quote (string match --regex '^["\']' -- "$current")
    set -l word (string unescape -- "$current$quote"); or set word "$current"
    set -l found (command $words[1] __complete $words[2..-1] "$word" 2>/dev/null)
    if test "$found[1]" = \t # nothing would be right, no file either
        return
    else if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete --command jobctl --keep-order --no-files --arguments '(__jobctl_complete)'
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

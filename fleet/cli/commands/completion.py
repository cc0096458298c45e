"""The shell's completion: prints a script that completes commands, options, agent ids and task names.

examples:
  echo 'eval "$(fleet completion bash)"' >>~/.bashrc
  echo 'eval "$(fleet completion zsh)"' >>~/.zshrc
  fleet completion fish >~/.config/fish/completions/fleet.fish
"""

from __future__ import annotations

import os

from fleet.cli import output
from fleet.errors import EXIT_OK, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet

BASH = r"""_fleet() {
  local line found word="${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  # bash breaks words at = and :, which fleet's own words never need
  found=$("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case $found in
    :files) compopt -o default; return ;;
    :folders) compopt -o dirnames; return ;;
  esac
  while IFS= read -r line; do
    line=${line%%$'\t'*}
    [ -n "$line" ] && COMPREPLY+=("$line")
  done <<<"$found"
  [ "${#COMPREPLY[@]}" = 1 ] && [ "${COMPREPLY[0]%=}" != "${COMPREPLY[0]}" ] && compopt -o nospace
  return 0
}
complete -F _fleet fleet tmux-fleet
"""

ZSH = r"""_fleet() {
  local found line
  local -a described
  found=$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  case $found in
    :files) _files; return ;;
    :folders) _files -/; return ;;
  esac
  for line in "${(@f)found}"; do
    [[ -z $line ]] && continue
    described+=("${${line%%$'\t'*}//:/\\:}${${line#*$'\t'}:+:${line#*$'\t'}}")
  done
  _describe -V fleet described
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u }
compdef _fleet fleet tmux-fleet
"""

FISH = r"""function __fleet_complete
  set -l words (commandline -opc)
  set -l found ($words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null)
  switch "$found[1]"
    case :files
      __fish_complete_path (commandline -ct)
    case :folders
      __fish_complete_directories (commandline -ct)
    case '*'
      printf '%s\n' $found
  end
end
complete -c fleet -f -k -a '(__fleet_complete)'
complete -c tmux-fleet -f -k -a '(__fleet_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("shell", nargs="?", choices=tuple(SCRIPTS), help="default: the one that $SHELL names")
    parser.add_argument("--json", action="store_true", help="print the script in JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Print the script."""
    shell = args.shell or os.path.basename(fleet.environ.get("SHELL", ""))
    if shell not in SCRIPTS:
        raise UsageError(f"no completion for {shell or 'an unknown shell'}", hint=f"known: {', '.join(SCRIPTS)}")
    if args.json:
        output.data({"shell": shell, "script": SCRIPTS[shell]})
    else:
        print(SCRIPTS[shell], end="")
    return EXIT_OK

"""A scriptable stand-in for an interactive coding agent, to be run in a tmux pane."""

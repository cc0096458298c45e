"""tmux: the only package that speaks to it. libtmux where a session is made, plain calls where many are looked at."""

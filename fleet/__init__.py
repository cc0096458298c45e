"""fleet: run many coding agents in tmux, hand their work on before the context runs full, and supervise them."""

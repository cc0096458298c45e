"""Git worktrees for agents: made all or nothing, removed only when nothing would be lost with them."""

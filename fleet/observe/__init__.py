"""What is happening: facts about agents, gathered from files, processes and panes, and judged by `model`."""

"""git, asked through one small runner that never prompts, waits for ever or takes locks it does not need."""

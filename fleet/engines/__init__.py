"""How each agent program is started and read. Text and records in, decisions out; nothing here touches a pane."""

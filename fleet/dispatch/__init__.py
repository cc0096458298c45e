"""Giving work out: from an order to an engine in a pane, all or nothing."""

"""Keys, status line and attaching, as a person meets them."""

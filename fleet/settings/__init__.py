"""The user's own settings files of other programs: read as text, edited in place, never reserialised."""

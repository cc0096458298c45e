"""What things are: frozen records and pure judgements. No input, no output."""

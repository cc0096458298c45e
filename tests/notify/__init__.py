"""How the operator is told."""

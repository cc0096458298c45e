"""What runs inside an agent: small writers of its own health, handoff and inbox state. Standard library only."""

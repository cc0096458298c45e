"""What happens when something is killed between two effects."""

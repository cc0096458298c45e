"""Looks at a fleet and says what is wrong, why that matters and what mends it. Changes nothing but by `--fix`."""

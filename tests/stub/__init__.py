"""A model server on loopback for real clients, and homes in which those clients open no dialog."""

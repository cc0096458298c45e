"""Processes by identity: a pid is somebody only together with its start time."""

"""A place for files in memory: where logic is examined with many examples, and not what a disk keeps, fsync is free."""

import os

FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  #: None: wherever temporary files are

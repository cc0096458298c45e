"""Where things are kept: one module per folder of FLEET_HOME, over the bytes that `formats` defines."""

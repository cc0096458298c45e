"""The drain: the one process per FLEET_HOME that changes what exists. Facts in, one step at a time, journaled."""

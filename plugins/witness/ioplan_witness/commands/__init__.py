"""The commands `ioplan device` and `ioplan witness`."""

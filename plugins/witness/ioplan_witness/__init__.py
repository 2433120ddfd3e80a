"""The commands of the test device, and of the witness that looks through it."""

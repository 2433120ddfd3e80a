"""`ioplan fio`: fio's command line and fio's output, with ioplan between them."""

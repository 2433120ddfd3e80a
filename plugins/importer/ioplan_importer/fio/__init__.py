"""fio's job files: read as fio reads them, and said as streams of a plan."""

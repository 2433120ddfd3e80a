"""Whether a plan asks what the job file asked.

It is emitted for fio again, and both are compared, option by option and by the I/Os
that fio itself makes of them.
"""

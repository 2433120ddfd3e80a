"""fio's JSON as records: what it measured, and nothing that it did not.

`documents` finds the JSON in a text, `model` checks what is needed of it, `asked` reads
its options as the plan that would have run, `figures` takes counts and latencies, and
`sessions` puts all of it into records with the ids that such a plan's runs have.
"""

"""How a `seek` finds its value: pure, and the same answers give the same probes.

`grid` has the values that may be tried, `search` which is tried next; `decide` when a
probe is decided, by what `batch_means` says of its intervals; `knee` the depth beyond
which throughput hardly grows, and `usl` a law for the curve.
"""

; Written by editors/make/tree_sitter_grammar.py out of the clause table.

[
"after"
"after completion"
"align"
"as"
"as fast as possible"
"at"
"burst"
"cut"
"data"
"dedup"
"ends"
"errors"
"event"
"flush"
"follows"
"footprint of"
(fua)
"hang"
"hotspots"
"interval"
"least"
"most"
"normal"
"of"
"offsets"
"on hosts"
"on targets"
"only"
"over"
"pareto"
"pause"
(permuted)
"qd"
"ramp"
"range"
"rate"
"read"
"read random"
"read sizes"
"reads"
"region"
"replay"
"retry"
"shaped"
"size"
"sizes"
"slope"
"speed"
"starts"
"sync"
"threads"
"trim"
"until"
(verify)
"warmup"
"write random"
"write sizes"
"writes"
"writes as reads"
"zipf"
] @property

[
"above"
"accept"
"all"
"allowed"
"and"
"before"
"below"
"by"
"cell"
"chart"
"compressible"
"confirm"
"continue"
"doubling"
"drawn"
"during"
(each)
"every"
"expect"
"fail"
"for"
(gamma)
"headline"
"highest"
"idle"
"in"
"kept"
"knee"
"linear"
"log"
"lowest"
"not"
"on failure"
"on nothing found"
"on unsteady"
"or"
"order"
"param"
"per"
"plan"
(poisson)
"power"
"precondition"
"predicted"
"profile"
(purge)
(random)
"recorded"
"repeat"
"rounds"
"run"
"runs"
"scaled"
"seek"
(sequential)
"skip"
"spare"
"steady"
"step"
"stop"
"test"
"then"
"to"
(total)
"trace"
"up"
"use"
"vary"
"when"
"where"
"within"
"workload"
"wrapped"
"write"
"zeros"
] @keyword

(comment) @comment
(string) @string
(quantity) @number
(mix) @number
(operator) @operator
["=" ".."] @operator
["{" "}" "(" ")"] @punctuation.bracket
"," @punctuation.delimiter

(test (string) @title)
(plan (string) @title)
(use (string) @string.special)
(use (name) @namespace)
(param (name) @constant)
(setting (name) @constant)
(profile (name) @type)
(workload (name) @function)
(base (name) @function)
(stream (name) @variable.parameter)
(precondition (name) @type)
(named (name) @type)
(after (name) @type)
(axes (name) @variable)
(chart (name) @function.builtin)
(expect (name) @variable.builtin)
(headline (name) @variable.builtin)
(literal (name) @constant)

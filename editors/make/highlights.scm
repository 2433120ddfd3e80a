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

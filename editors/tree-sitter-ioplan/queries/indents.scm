[
  (test)
  (precondition)
  (workload)
  (profile)
  (repeat)
] @indent.begin

"}" @indent.end @indent.branch

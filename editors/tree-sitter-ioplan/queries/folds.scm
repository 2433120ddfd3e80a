[
  (test)
  (precondition)
  (workload)
  (profile)
  (repeat)
  (comment)+
] @fold

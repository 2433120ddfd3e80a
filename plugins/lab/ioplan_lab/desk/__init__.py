"""The lab's desk: a service where people see, start and compare what the lab runs."""

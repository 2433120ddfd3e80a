from ioplan_testing.calm import calmly as calmly
from ioplan_testing.checks import check_consistent as check_consistent
from ioplan_testing.conformance import Conformance as Conformance
from ioplan_testing.subject import SLACK_NS as SLACK_NS
from ioplan_testing.subject import Times as Times
from ioplan_testing.subject import job as job
from ioplan_testing.subject import sizes as sizes
from ioplan_testing.subject import stream as stream

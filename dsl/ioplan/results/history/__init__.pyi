from ioplan.results.history.blocks import sentence as sentence
from ioplan.results.history.judge import Question as Question
from ioplan.results.history.judge import history as history
from ioplan.results.history.model import History as History
from ioplan.results.history.model import Series as Series
from ioplan.results.history.monitor import log_limit as log_limit
from ioplan.results.history.monitor import signals as signals

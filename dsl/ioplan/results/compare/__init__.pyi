from ioplan.results.compare.judge import Question as Question
from ioplan.results.compare.judge import compare as compare
from ioplan.results.compare.noise import MetricNoise as MetricNoise
from ioplan.results.compare.side import side_of as side_of

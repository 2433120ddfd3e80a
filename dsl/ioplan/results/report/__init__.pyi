from ioplan.results.report.blocks import Bar as Bar
from ioplan.results.report.blocks import Bars as Bars
from ioplan.results.report.build import Document as Document
from ioplan.results.report.build import document as document
from ioplan.results.report.build import session_sections as session_sections
from ioplan.results.report.build import sessions_screen as sessions_screen
from ioplan.results.report.charts.charts import chart as chart
from ioplan.results.report.charts.charts import pictures as pictures
from ioplan.results.report.charts.convergence import convergence as convergence
from ioplan.results.report.charts.request import Datum as Datum
from ioplan.results.report.charts.request import framed as framed
from ioplan.results.report.documents import FAILED as FAILED
from ioplan.results.report.documents import PICTURE_KINDS as PICTURE_KINDS
from ioplan.results.report.documents import ChartSpec as ChartSpec
from ioplan.results.report.documents import Column as Column
from ioplan.results.report.documents import Frame as Frame
from ioplan.results.report.first_screen import cards as cards
from ioplan.results.report.headlines.contests import (
    comparison_sentence as comparison_sentence,
)
from ioplan.results.report.headlines.contests import contests as contests
from ioplan.results.report.headlines.headline import Headline as Headline
from ioplan.results.report.html.page import page as page
from ioplan.results.report.html.page import worst as worst
from ioplan.results.report.html.payload import safe as safe
from ioplan.results.report.html.spec import modes as modes
from ioplan.results.report.html.spec import spec as spec
from ioplan.results.report.judgements import Judgement as Judgement
from ioplan.results.report.judgements import verdict_lines as verdict_lines
from ioplan.results.report.point import points as points
from ioplan.results.report.reader import Reader as Reader
from ioplan.results.report.section import Section as Section
from ioplan.results.report.terminal.bars import print_screen as print_screen
from ioplan.results.report.terminal.parts import MOST_PARTS as MOST_PARTS
from ioplan.results.report.terminal.parts import parts as parts
from ioplan.results.report.terminal.sessions import session_lines as session_lines
from ioplan.results.report.terminal.show import drawn as drawn
from ioplan.results.report.terminal.show import show_records as show_records

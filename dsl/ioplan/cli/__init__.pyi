from ioplan.cli.app import run as run
from ioplan.cli.arguments import parse as parse
from ioplan.cli.commands.sessions import plan_of as plan_of
from ioplan.cli.display.live_lines import LiveLines as LiveLines
from ioplan.cli.display.terminal import Terminal as Terminal
from ioplan.cli.exit_codes import RUN_FAILED as RUN_FAILED
from ioplan.cli.exit_codes import USAGE as USAGE
from ioplan.cli.interface.declare import Command as Command
from ioplan.cli.interface.declare import Group as Group
from ioplan.cli.interface.table import IOPLAN as IOPLAN

def main() -> None: ...
def tune_startup() -> None: ...

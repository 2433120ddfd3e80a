from ioplan_spdk.backend import SpdkBackend as SpdkBackend
from ioplan_spdk.driver import driver_of as driver_of
from ioplan_spdk.options import SpdkOptions as SpdkOptions
from ioplan_spdk.options import parse_options as parse_options

from ioplan_sim.backend import SimBackend as SimBackend
from ioplan_sim.spec import DriveSpec as DriveSpec
from ioplan_sim.spec import FlashSpec as FlashSpec
from ioplan_sim.spec import HostSpec as HostSpec

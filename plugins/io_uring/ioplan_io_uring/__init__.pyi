from ioplan_io_uring.backend import IoUringBackend as IoUringBackend
from ioplan_io_uring.backend import engine_path as engine_path

"""What an NVMe drive says of itself: nothing was written since it was sanitized."""

from __future__ import annotations

from ioplan.runner.devices.device import Device
from ioplan.runner.devices.nvme import Nvme, NvmeError
from ioplan.runner.devices.sanitize_log import LOG_BYTES, LOG_PAGE, SanitizeLog

SANITIZED = "its sanitize log says that nothing was written since it was sanitized"


def sanitized(device: Device, fd: int) -> str:
    """Why it is empty; nothing of a partition, or of a drive without that log."""
    if device.partition or not device.disk.text("nsid"):
        return ""
    try:
        log = SanitizeLog.of(Nvme(fd).log(LOG_PAGE, LOG_BYTES))
    except (NvmeError, OSError):
        return ""
    return SANITIZED if log.is_erased and not log.trouble else ""

from ioplan_fio.backend import FioBackend as FioBackend
from ioplan_fio.jobfile import Settings as Settings
from ioplan_fio.jobfile import job_file as job_file
from ioplan_fio.jobfile import section_names as section_names
from ioplan_fio.jobfile import settings_of as settings_of

from ioplan_importer.findings import Findings as Findings
from ioplan_importer.findings import ImportFault as ImportFault
from ioplan_importer.fio_results.sessions import SUMMARY_ONLY as SUMMARY_ONLY
from ioplan_importer.fio_results.sessions import ImportedSession as ImportedSession
from ioplan_importer.fio_results.sessions import import_results as import_results
from ioplan_importer.plan_import import ImportedPlan as ImportedPlan
from ioplan_importer.plan_import import import_plan as import_plan
from ioplan_importer.plan_import import kind_of as kind_of

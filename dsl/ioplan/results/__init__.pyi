from ioplan.results.exports.export import export as export
from ioplan.results.exports.formats import pyarrow as pyarrow
from ioplan.results.share.archive import BundleError as BundleError
from ioplan.results.share.bundle import Bundled as Bundled
from ioplan.results.share.bundle import bundle_bytes as bundle_bytes
from ioplan.results.share.bundle import read_bundle as read_bundle

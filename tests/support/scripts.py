"""Scripts of the repository that are no part of a package."""

import sys
from importlib import import_module

from paths import ROOT


def packaging_script(name):
    """One of the folder `packaging`; it finds its neighbours as when it is called."""
    folder = str(ROOT / "packaging")
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module(name)

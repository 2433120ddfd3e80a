"""The collector does not look through what importing and collecting the tests left."""

import gc

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Thousands of tests and all modules stay until the end, so none of it is garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()

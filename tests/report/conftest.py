"""One folder for the studies of all tests of reports: each is measured once."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studies")

import pytest
from sticky_place import made, opener


@pytest.fixture
def place(tmp_path):
    return made(tmp_path)


@pytest.fixture
def opened(place):
    return opener(place)

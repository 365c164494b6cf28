"""Backends keep the backend law behind a transport, whatever it does with what it carries."""

import pytest
from remote_backends import RECITAL, recital_scenarios

from ohm_subagents.testing import RemoteConformance


class TestOverAShakyTransport(RemoteConformance):
    @pytest.fixture
    def hosted(self):
        return RECITAL

    @pytest.fixture
    def scenarios(self, tmp_path):
        return recital_scenarios(tmp_path)


@pytest.mark.slow
class TestManySeeds(TestOverAShakyTransport):
    @pytest.fixture(params=range(3, 11))
    def seed(self, request):
        return request.param

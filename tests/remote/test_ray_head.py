"""The head of a Ray cluster is killed: what runs goes on, and what needs the head is told so."""

import anyio
import pytest
from ray_clusters import cluster_of_tests
from ray_submitter import opened

from ohm_ray.actors import Actors
from ohm_ray.options import RayOptions
from ohm_subagents.contract import TextDelta
from ohm_subagents.remote import UndeliveredError
from ohm_subagents.testing import EventLog

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def anyio_backend():
    """Ray runs on asyncio alone."""
    return "asyncio"


async def test_a_killed_head_costs_no_run_at_other_nodes_and_is_told_of_where_it_is_needed(tmp_path):
    log = EventLog()
    with cluster_of_tests() as cluster:
        cluster.env["OHM_RAY_ADDRESS"] = cluster.address
        cluster.add_node(place="there")
        async with opened(tmp_path, cluster.env, log, labels={"place": "there"}) as ohm:
            handle = await ohm.start("finder", "count 500")
            await log.until(lambda _task, event: isinstance(event, TextDelta))
            [head] = [one for one in cluster.head.processes() if one.name() == "gcs_server"]
            head.kill()
            head.wait()
            assert (await handle.wait()).unwrap().output == "Done: count 500"
            await anyio.sleep(2)  # after which the runner is asked anew who it is
            assert (await ohm.run("finder", "say")).unwrap().output == "Done: say"

            import ray

            with pytest.raises(UndeliveredError, match=r"does not answer\. Nothing answers at"):
                await Actors(ray, RayOptions(pool="other")).find(0)

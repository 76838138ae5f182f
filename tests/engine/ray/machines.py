"""A real Ray cluster of several nodes on this machine, and what tests look at."""

import os
from pathlib import Path
from typing import Any

from ostrom.ground.validation import validate
from ostrom.studies.run import open_run
from ostrom.studies.schema import StudyFile

WORKERS_KEY = "canary-of-the-workers-4711"
"""A key that only the machines of the workers have."""

QUICK_DETECTION = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 4,
}


class Machines:
    """The nodes of the cluster: a head without processors, and workers' nodes with one each."""

    def __init__(self, nodes: int) -> None:
        import ray
        from ray.cluster_utils import Cluster as RayCluster

        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": QUICK_DETECTION}
        self._cluster = RayCluster(initialize_head=True, head_node_args=head)
        self._count = 0
        for _ in range(nodes):
            self.add()
        ray.init(address=self._cluster.address, logging_level="error", log_to_driver=False)

    @property
    def address(self) -> str:
        """Where the head listens."""
        return str(self._cluster.address)

    @property
    def logs(self) -> Path:
        """All that Ray writes down about this cluster."""
        return Path(self._cluster.head_node.get_session_dir_path())

    def add(self) -> Any:
        """One more machine, with a key of its own and an address for OpenAI that no other machine has."""
        self._count += 1
        home = f"http://127.0.0.1:{self._count}/v1"
        variables = {"OSTROM_API_KEY": WORKERS_KEY, "OPENAI_API_KEY": WORKERS_KEY, "OPENAI_BASE_URL": home}
        return self._cluster.add_node(num_cpus=1, env_vars=variables)

    def kill(self, node: Any) -> None:
        """Pull the plug of a machine."""
        self._cluster.remove_node(node, allow_graceful=False)

    def close(self) -> None:
        """Stop everything."""
        import ray

        ray.shutdown()
        self._cluster.shutdown()


def study(model: str, **changes: Any) -> StudyFile:
    """A repeated Prisoner's Dilemma of a model and two scripts."""
    data: dict[str, Any] = {
        "name": "spread",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 8},
        "agent": {"style": "direct", "memory": "window:3", "framing": {"order": "shuffled", "counterbalance": True}},
        "types": {"model": {"model": model}, "tft": "tit_for_tat", "chance": "random:0.5"},
        "seating": "ordered",
        "seeds": 2,
    }
    return validate(StudyFile, {**data, **changes}, "test")


def asked(folder: Path) -> list[bytes]:
    """The keys of all calls that were answered, one per acknowledged call."""
    with open_run(folder) as run:
        query = "SELECT key FROM calls WHERE error IS NULL"
        return [key for (key,) in run.journal._rows(query)]

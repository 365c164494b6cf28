"""The command `ray start` for a further node on loopback: where Ray keeps to it, it allows no more than one."""

from types import SimpleNamespace

from ray.scripts import scripts

scripts.ray_constants = SimpleNamespace(**{**vars(scripts.ray_constants), "ENABLE_RAY_CLUSTER": True})

if __name__ == "__main__":
    scripts.main()

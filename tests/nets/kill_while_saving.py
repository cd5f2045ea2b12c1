"""Kill a process at random moments while it tells and saves: the file must load, with every result whose save returned.

python tests/nets/kill_while_saving.py 200
"""

import os
import random
import select
import signal
import sys
import tempfile
import time
from pathlib import Path

import torch

from tunedprior import Optimizer

SPACE = {"x": (0.0, 1.0), "gas": ["air", "argon"]}
LONGEST = 0.25  # seconds from the first save to the kill


def tell_and_save(path: Path, report: int) -> None:
    """For ever: one more result, saved, and only then a byte to say so."""
    opt = Optimizer.load(path)
    while True:
        opt.tell({"x": (len(opt.trials) % 97) / 97, "gas": "air"}, float(len(opt.trials)))
        opt.save(path)
        os.write(report, b".")


def killed_once(path: Path, rng: random.Random) -> tuple[int, int]:
    """How many saves had returned when the child was killed, and how many results the file holds more than before."""
    before = len(Optimizer.load(path).trials)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            tell_and_save(path, writing)
        finally:
            os._exit(1)
    os.close(writing)
    try:
        ready, _, _ = select.select([reading], [], [], 60)
        assert ready, "the child saved nothing in a minute"
        time.sleep(rng.uniform(0, LONGEST))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    returned = 0
    while some := os.read(reading, 65536):
        returned += len(some)
    os.close(reading)
    told = Optimizer.load(path).trials.told
    assert [trial.value for trial in told] == list(map(float, range(len(told)))), "results are missing or mixed up"
    return returned, len(told) - before


def main(times: int, seed: int = 0) -> int:
    """Kill a child so many times; the number of saves in all."""
    torch.set_num_threads(1)  # a fork does not bring other threads along
    rng, saves = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(times):
            path = Path(folder) / "campaign.json"
            Optimizer(SPACE, direction="maximize", seed=0).save(path, overwrite=True)
            returned, held = killed_once(path, rng)
            assert returned <= held <= returned + 1, f"{returned} saves had returned, and the file holds {held}"
            saves += returned
    return saves


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"{count} kills, {main(count)} saves, nothing lost")

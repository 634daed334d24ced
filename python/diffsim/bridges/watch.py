# SPDX-License-Identifier: Apache-2.0
"""A live run in TensorBoard and CSV, through one observer.

    from diffsim.bridges.watch import Csv, Observer, TensorBoard
    with Observer(Csv("run.csv"), TensorBoard("logs/run")) as observer:
        diffsim.minimize(env, "cmaes", 300, progress=observer)        # a run of this program
    follow("results/pinball-cmaes-s0", TensorBoard("logs/run"))       # a run of dshost, while it is made

    python3 -m diffsim.bridges.watch results/pinball-cmaes-s0 --csv run.csv --tensorboard logs/run

Another sink is any object with ``add(step, values)`` and ``close()``.
"""
from __future__ import annotations

import argparse
import csv
import math
import time
from pathlib import Path

from .._results import Run, goes_on


class Csv:
    """Rows of a CSV file: evaluation, and the values in the order in which they came first; each row is on the disk when it
    was added."""

    def __init__(self, path):
        self._file = open(path, "w", newline="", encoding="utf-8", buffering=1)
        self._writer, self._names = csv.writer(self._file), None

    def add(self, step: int, values: dict) -> None:
        if self._names is None:
            self._names = list(values)
            self._writer.writerow(["evaluation", *self._names])
        self._writer.writerow([step, *(repr(float(values[k])) for k in self._names)])

    def close(self) -> None:
        self._file.close()


class TensorBoard:
    """Scalars for TensorBoard (package ``tensorboard``; PyTorch and TensorFlow are not needed): one curve for each value, over
    the number of the evaluation. Values that are not finite are left out."""

    def __init__(self, folder):
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
        self._event, self._summary = Event, Summary
        self._writer = EventFileWriter(str(folder))

    def add(self, step: int, values: dict) -> None:
        scalars = [self._summary.Value(tag=k, simple_value=float(v)) for k, v in values.items() if math.isfinite(v)]
        self._writer.add_event(self._event(step=step, wall_time=time.time(), summary=self._summary(value=scalars)))

    def close(self) -> None:
        self._writer.close()


class Observer:
    """``progress=`` of :func:`diffsim.minimize`, also called by :func:`follow`: passes best loss and failures
    to its sinks, once for each number of evaluations."""

    def __init__(self, *sinks):
        self.sinks, self.step = sinks, 0

    def __call__(self, progress) -> bool:
        if progress.evaluations > self.step:
            self.add(progress.evaluations, {"best_loss": progress.best_loss, "failed": progress.failed})
        return False

    def add(self, step: int, values: dict) -> None:
        """The values at evaluation ``step``."""
        self.step = step
        for sink in self.sinks:
            sink.add(step, values)

    def close(self) -> None:
        for sink in self.sinks:
            sink.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def follow(folder, *sinks, interval: float = 0.5, once: bool = False) -> int:
    """Reads the record of a run again and again until the run has ended (``once``: a single time), and adds a row for each
    evaluation: loss, best loss, seconds. Returns how many there were."""
    observer, best = Observer(*sinks), math.inf
    while True:
        ended = (Path(folder) / "summary.json").is_file() and not goes_on(folder)
        history = Run(folder).history() if (Path(folder) / "run.sqlite").is_file() else ()
        for row in history[observer.step:]:
            best = min(best, float(row["loss"])) if math.isfinite(row["loss"]) else best
            observer.add(observer.step + 1, {"loss": float(row["loss"]), "best_loss": best})
        if ended or once:
            observer.close()
            return observer.step
        time.sleep(interval)


def main() -> None:
    p = argparse.ArgumentParser(prog="python3 -m diffsim.bridges.watch", description="A run of dshost, live, in CSV and TensorBoard.")
    p.add_argument("folder", help="result folder of a run")
    p.add_argument("--csv", help="file to be written")
    p.add_argument("--tensorboard", help="folder for TensorBoard")
    p.add_argument("--once", action="store_true", help="do not wait for more")
    o = p.parse_args()
    sinks = [Csv(o.csv)] if o.csv else []
    sinks += [TensorBoard(o.tensorboard)] if o.tensorboard else []
    if not sinks:
        p.error("name --csv FILE or --tensorboard DIR")
    print(f"{follow(o.folder, *sinks, once=o.once)} evaluations")


if __name__ == "__main__":
    main()

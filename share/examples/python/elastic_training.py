#!/usr/bin/env python3
"""Fits a line to samples of binary files: slices of them go through workers that decode, in any number of processes.

The first process makes samples and gives slices; others join it at any time, anywhere, with --join FILE. A slow one
(--slow) gets fewer slices. With --checkpoint it goes on where it was stopped. With --torch, the model is one of torch.
Each process trains a model of its own; a real training would average them, or exchange gradients.
"""

import argparse
import itertools
import os
import pathlib
import pickle
import tempfile
import threading

import numpy

from work_queue.job_executor import JobExecutor2
from work_queue.slices import FixedLengthRecordReader, WorkQueue

RECORD = numpy.dtype([("x", "<f4"), ("y", "<f4")])


def make_samples(folder, files=4, samples=20_000):
    random = numpy.random.default_rng(1)
    names = [folder / f"samples{number}.bin" for number in range(files)]
    for name in names:
        data = numpy.empty(samples, RECORD)
        data["x"] = random.uniform(-1, 1, samples)
        data["y"] = 3 * data["x"] + 0.5 + random.normal(0, 0.1, samples)
        data.tofile(name)
    return names


def decode(batch):
    """In a worker: what is costly in a real program, such as images that are decompressed."""
    return {"x": numpy.ascontiguousarray(batch["samples"]["x"]), "y": numpy.ascontiguousarray(batch["samples"]["y"])}


class Line:
    """y = slope * x + offset, by gradients of numpy."""

    def __init__(self):
        self.weights = numpy.zeros(2)

    def train(self, x, y, rate=0.3):
        error = self.weights[0] * x + self.weights[1] - y
        self.weights -= rate * 2 * numpy.array([(error * x).mean(), error.mean()])


class TorchLine(Line):
    """The same by torch: its tensors are views of the arrays that came from the workers."""

    def train(self, x, y, rate=0.3):
        import torch

        weights = torch.tensor(self.weights, requires_grad=True)
        loss = ((weights[0] * torch.from_numpy(x) + weights[1] - torch.from_numpy(y)) ** 2).mean()
        loss.backward()
        self.weights -= rate * weights.grad.numpy()


def batches_of(queue, slow):
    reader, producer = FixedLengthRecordReader(RECORD.itemsize, RECORD), queue.input_producer()
    while True:
        keys, samples = reader.read_up_to(producer, 500)
        if not keys:
            return
        yield {"samples": samples}
        threading.Event().wait(slow)  # stands for a slow machine


def write(path, content):
    part = f"{path}.part"
    with open(part, "wb") as file:
        pickle.dump(content, file)
    os.replace(part, path)


def train(queue, model, options):
    steps, before, batches = 0, -1, batches_of(queue, options.slow)
    with JobExecutor2(options.workers, decode) as executor:
        while steps > before:
            before = steps
            for _, batch in executor.map(itertools.islice(batches, 50)):
                model.train(batch["x"], batch["y"])
                steps += 1
            # What was read has been trained: no batch of a slice that counts as done is still with the workers.
            if options.checkpoint and options.join is None:
                write(options.checkpoint, {"weights": model.weights, "data": queue.state_dict()})
    print(f"{steps} steps: slope {model.weights[0]:.2f}, offset {model.weights[1]:.2f}; this process took {queue.taken} slices")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--join", metavar="FILE", help="contact file of the first process")
    parser.add_argument("--contact", metavar="FILE", help="write it, so that others can join")
    parser.add_argument("--checkpoint", metavar="FILE", help="save here; go on if it is there")
    parser.add_argument("--epochs", type=int, default=3, metavar="N", help="default: 3")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="that decode; default: 2")
    parser.add_argument("--slow", type=float, default=0, metavar="S", help="seconds to wait a batch")
    parser.add_argument("--torch", action="store_true", help="a model of torch")
    options = parser.parse_args()
    model = TorchLine() if options.torch else Line()
    if options.join:
        with WorkQueue.join(options.join) as queue:
            return train(queue, model, options)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(options.checkpoint).resolve().parent if options.checkpoint else pathlib.Path(folder)
        names = [folder / f"samples{number}.bin" for number in range(4)]
        if not all(name.exists() for name in names):
            make_samples(folder)
        saved = None
        if options.checkpoint and os.path.exists(options.checkpoint):
            with open(options.checkpoint, "rb") as file:
                saved = pickle.load(file)
            model.weights = saved["weights"]
        with WorkQueue(names, num_epochs=options.epochs, num_slices=40, seed=1, record_bytes=RECORD.itemsize,
                       contact=options.contact, restore=saved and saved["data"]["slices"]) as queue:
            train(queue, model, options)
            if options.checkpoint:
                write(options.checkpoint, {"weights": model.weights, "data": queue.state_dict()})


if __name__ == "__main__":
    main()

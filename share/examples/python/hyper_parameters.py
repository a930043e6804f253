#!/usr/bin/env python3
"""A search for hyper-parameters over the ranks of an MPI job: the learning rate
and the regularisation of a small model, by cross-validation.

    mpirun -n 8 work_queue_python hyper_parameters.py
    work_queue_python hyper_parameters.py    # all cores of this machine

Each task trains the model for one pair of values. The second round looks more
closely around the best pair of the first. Prints a table, and draws a map if
matplotlib is there. More ranks than cores need mpirun --oversubscribe.
"""

import argparse
import sys

import numpy

import work_queue as wq


def make_samples(samples, features, seed=1):
    """Most features say nothing: without regularisation, the model learns their noise."""
    random = numpy.random.default_rng(seed)
    x = random.normal(size=(samples, features))
    weights = numpy.where(numpy.arange(features) < 5, 1.0, 0.0)
    return x, x @ weights + random.normal(0, 2, samples)


def train(x, y, rate, regularisation, epochs, batch=20):
    """The weights of a linear model, by stochastic gradient descent with momentum. They are not finite if it diverges."""
    random = numpy.random.default_rng(7)
    weights, speed = numpy.zeros((2, x.shape[1]))
    with numpy.errstate(over="ignore", invalid="ignore"):
        for epoch in range(epochs):
            step = rate / (1 + 3 * epoch / epochs)
            for chosen in numpy.array_split(random.permutation(len(y)), max(1, len(y) // batch)):
                slope = x[chosen].T @ (x[chosen] @ weights - y[chosen]) / len(chosen) + regularisation * weights
                speed = 0.9 * speed - step * slope
                weights = weights + speed
    return weights


def validate(x, y, rate, regularisation, epochs, folds=5):
    """The task: the mean square error on samples that were not trained on, one value a fold; infinite: it diverged."""
    errors = []
    for fold in range(folds):
        left_out = numpy.arange(len(y)) % folds == fold
        weights = train(x[~left_out], y[~left_out], rate, regularisation, epochs)
        with numpy.errstate(over="ignore", invalid="ignore"):
            error = ((x[left_out] @ weights - y[left_out]) ** 2).mean()
        errors.append(error if error < 10 * y.var() else numpy.inf)
    return errors


def search(q, pairs, data, epochs, found):
    """Adds {(rate, regularisation): errors} to `found`."""
    for rate, regularisation in pairs:
        task = wq.PythonTask(validate, *data, rate, regularisation, epochs)
        task.pair = (rate, regularisation)
        task.specify_cores(1)
        q.submit(task)
    while not q.empty():
        task = q.wait(5)
        if task is None:
            continue
        if isinstance(task.output, Exception):
            raise task.output
        found[task.pair] = task.output
        if sys.stderr.isatty():
            print(f"{len(found)} pairs", end="\r", file=sys.stderr, flush=True)
    print(f"{len(found)} pairs", file=sys.stderr)


def grid(rates, regularisations):
    return [(rate, regularisation) for rate in rates for regularisation in regularisations]


def around(best, factor, steps=2):
    """A finer grid: `steps` to each side, from best / factor to best * factor."""
    powers = factor ** (numpy.arange(-steps, steps + 1) / steps)
    return grid(best[0] * powers, best[1] * powers)


def ranked(found):
    """Rows (mean error, its standard error, rate, regularisation), best first; what diverged comes last."""
    rows = []
    for (rate, regularisation), errors in found.items():
        mean = numpy.mean(errors)
        rows.append((mean, numpy.std(errors) / len(errors) ** 0.5 if mean < numpy.inf else mean, rate, regularisation))
    return sorted(rows)


def write_table(file, rows):
    print("rate,regularisation,error,standard_error", file=file)
    for mean, deviation, rate, regularisation in rows:
        print(f"{rate:.6g},{regularisation:.6g},{mean:.6g},{deviation:.6g}", file=file)


def draw(file, rows):
    """A map of the errors; False: matplotlib is missing."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    finite = numpy.array([row for row in rows if row[0] < numpy.inf])
    diverged = numpy.array([row for row in rows if row[0] == numpy.inf]).reshape(-1, 4)
    figure, axes = pyplot.subplots(figsize=(8, 5.5), layout="constrained")
    # Most colours are for errors near the least one.
    scale = matplotlib.colors.LogNorm(0.02, 2)
    points = axes.scatter(finite[:, 2], finite[:, 3], c=finite[:, 0] / finite[0, 0] - 0.98, s=120, cmap="viridis_r", norm=scale)
    axes.scatter(diverged[:, 2], diverged[:, 3], marker="x", color="gray", label="diverged")
    axes.scatter(*finite[0, 2:], s=320, facecolors="none", edgecolors="crimson", linewidths=2, label="best")
    axes.set(xscale="log", yscale="log", xlabel="learning rate", ylabel="regularisation")
    axes.set_title("Mean square error (MSE) of cross-validation", loc="left")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncol=2)
    bar = figure.colorbar(points, extend="max", label=f"MSE / least MSE ({finite[0, 0]:.3g})")
    ticks = numpy.array([1, 1.05, 1.1, 1.2, 1.5, 2, 2.9])
    bar.set_ticks(ticks - 0.98, labels=[f"{tick:g}" for tick in ticks])
    bar.minorticks_off()
    figure.savefig(file)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=8, metavar="N", help="values of each parameter (default: 8)")
    parser.add_argument("--epochs", type=int, default=60, metavar="N", help="of each training (default: 60)")
    parser.add_argument("--table", default="errors.csv", metavar="FILE", help="all pairs, best first (default: errors.csv)")
    parser.add_argument("--plot", default="errors.png", metavar="FILE", help="PNG, or SVG by its name (default: errors.png)")
    given = parser.parse_args()

    data = make_samples(samples=200, features=60)
    rates, regularisations = numpy.geomspace(1e-4, 1, given.points), numpy.geomspace(1e-3, 10, given.points)
    found = {}
    with wq.WorkQueue(None) as q:  # by work_queue_python: its workers are the ranks
        search(q, grid(rates, regularisations), data, given.epochs, found)
        _, _, *best = ranked(found)[0]
        search(q, around(best, rates[1] / rates[0]), data, given.epochs, found)
    rows = ranked(found)
    with open(given.table, "w") as file:
        write_table(file, rows)
    print("      rate  regularisation   error")
    for mean, deviation, rate, regularisation in rows[:5]:
        print(f"{rate:10.3g} {regularisation:15.3g} {mean:7.3f} +- {deviation:.3f}")
    alike = sum(row[0] < rows[0][0] + rows[0][1] for row in rows)
    print(f"{alike} pairs are within one standard error of the best")
    print(f"{given.table}: {len(rows)} pairs, {sum(row[0] == numpy.inf for row in rows)} of them diverged")
    print(given.plot if draw(given.plot, rows) else "no plot: matplotlib is missing (Debian: python3-matplotlib)")


if __name__ == "__main__":
    main()

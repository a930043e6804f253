#!/usr/bin/env python3
"""A parameter study: how far a driven pendulum swings, for many frequencies of
the drive and many dampings, as a map.

    ./parameter_study.py --workers 1    # with a worker on this machine
    ./parameter_study.py --points 200   # prints the command for workers

Each task computes one column of the map, as a NumPy array: all dampings at one
frequency. Start as many workers as you like, wherever you like.
"""

import argparse
import subprocess
import sys

import numpy

import ndcctools.work_queue as wq

DRIVE = 0.15  # torque of the drive, in units of the torque that holds the pendulum level


def swing(frequency, dampings, periods):
    """The largest angle (rad) in the last quarter of the drive periods, for each damping. Frequencies are in units of
    that of small swings."""
    angle, speed, widest = numpy.zeros((3, len(dampings)))
    steps = 30  # of a period
    step = 2 * numpy.pi / frequency / steps

    def slope(angle, speed, time):
        return speed, DRIVE * numpy.cos(frequency * time) - dampings * speed - numpy.sin(angle)

    for number in range(periods * steps):
        time = number * step
        a1, s1 = slope(angle, speed, time)
        a2, s2 = slope(angle + a1 * step / 2, speed + s1 * step / 2, time + step / 2)
        a3, s3 = slope(angle + a2 * step / 2, speed + s2 * step / 2, time + step / 2)
        a4, s4 = slope(angle + a3 * step, speed + s3 * step, time + step)
        angle = angle + (a1 + 2 * a2 + 2 * a3 + a4) * step / 6
        speed = speed + (s1 + 2 * s2 + 2 * s3 + s4) * step / 6
        if number > 0.75 * periods * steps:
            widest = numpy.maximum(widest, abs(angle))
    return widest


def study(q, frequencies, dampings, periods):
    """The angles as an array [damping, frequency]."""
    angles = numpy.empty((len(dampings), len(frequencies)))
    for column, frequency in enumerate(frequencies):
        task = wq.PythonTask(swing, frequency, dampings, periods)
        task.specify_tag(str(column))
        task.specify_cores(1)
        q.submit(task)
    while not q.empty():
        task = q.wait(5)
        if task is None:
            continue
        if isinstance(task.output, Exception):
            raise task.output
        angles[:, int(task.tag)] = task.output
        if sys.stderr.isatty():
            print(f"{q.stats.tasks_done} of {len(frequencies)} frequencies", end="\r", file=sys.stderr, flush=True)
    print(f"{q.stats.tasks_done} of {len(frequencies)} frequencies", file=sys.stderr)
    return angles


def draw(file, frequencies, dampings, angles):
    """A map as PNG or SVG, by gnuplot."""
    terminal = "svg enhanced size 1000,640 font 'Sans,14'" if file.endswith(".svg") else "pngcairo enhanced size 1000,640 font 'Sans,12'"
    quoted = file.replace("'", "''")
    rows = "\n".join(f"{frequency:.6g} {damping:.6g} {numpy.degrees(angle):.6g}"
                     for damping, row in zip(dampings, angles) for frequency, angle in zip(frequencies, row))
    script = f"""set terminal {terminal} background rgb 'white'
set output '{quoted}'
set title 'Driven pendulum: largest angle of the steady swing (torque of the drive {DRIVE})'
set xlabel 'drive frequency / frequency of small swings'
set ylabel 'damping / frequency of small swings'
set cblabel 'largest angle (degrees)'
set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')
set xrange [{frequencies[0]:g}:{frequencies[-1]:g}]
set yrange [{dampings[0]:g}:{dampings[-1]:g}]
set cbrange [0:*]
set tics out
unset key
$map << END
{rows}
END
plot $map with image
"""
    try:
        subprocess.run(["gnuplot"], input=script, text=True, check=True)
    except FileNotFoundError:
        sys.exit("gnuplot is missing (Debian: gnuplot-nox)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=60, metavar="N", help="frequencies, and dampings (default: 60)")
    parser.add_argument("--periods", type=int, default=60, metavar="N", help="periods of the drive to compute (default: 60)")
    parser.add_argument("--output", default="pendulum.png", metavar="FILE", help="PNG, or SVG by its name (default: pendulum.png)")
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="start so many workers on this machine")
    parser.add_argument("--port", type=int, default=0, help="port for workers (default: any)")
    parser.add_argument("--contact", default="contact", metavar="FILE", help="what workers need to connect (default: contact)")
    given = parser.parse_args()

    frequencies = numpy.linspace(0.5, 1.3, given.points)
    dampings = numpy.linspace(0.05, 0.5, given.points)
    with wq.WorkQueue(given.port, contact_file=given.contact) as q:
        if given.workers > 0:
            workers = wq.Factory("local", q)
            workers.min_workers = workers.max_workers = given.workers
            with workers:
                angles = study(q, frequencies, dampings, given.periods)
        else:
            print(f"waiting for workers: work_queue_worker --contact {given.contact}", flush=True)
            angles = study(q, frequencies, dampings, given.periods)
    draw(given.output, frequencies, dampings, angles)
    row, column = numpy.unravel_index(angles.argmax(), angles.shape)
    print(f"{given.output}: the largest angle, {numpy.degrees(angles.max()):.1f} degrees, is at frequency {frequencies[column]:.3f} "
          f"and damping {dampings[row]:.3f}")


if __name__ == "__main__":
    main()

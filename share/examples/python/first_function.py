"""A first function on workers.

    work_queue_python first_function.py                   # on all cores of this machine
    mpirun -n 4 work_queue_python first_function.py       # on ranks
    python3 first_function.py                             # on workers: work_queue_worker --contact contact
"""

import argparse

import work_queue as wq

argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()


def area(radius):
    import math

    return math.pi * radius**2


queue = wq.WorkQueue(0, contact_file="contact")  # who can read the file may join
print("workers may join: work_queue_worker --contact contact")
for radius in range(1, 11):
    task = wq.PythonTask(area, radius)
    task.specify_cores(1)
    queue.submit(task)
while not queue.empty():
    task = queue.wait(5)
    if task:
        print(f"task {task.id} on {task.host}: {task.output:.2f}")

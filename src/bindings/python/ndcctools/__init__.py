"""CCTools' name for the package work_queue."""

"""The figures in what bench.py prints, so that two runs can be compared (compare)."""

import re
import statistics

NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
# "what:   123 unit", "what<TAB>123<TAB>unit": two blanks, a tab or a colon end the name.
LINE = re.compile(rf"^(?P<row>\S.*?)(?:\s\s+|\t|:\s+)(?=[<=>~]*\s*{NUMBER}(?:\s|$))(?P<rest>.*)$")
VALUE = re.compile(rf"({NUMBER})\s*(%|[A-Za-z/]+(?: (?:CPU|fed|the ideal|what was used))?)?")
# Of the numbers in a line, those with such a unit were measured; others, such as "100 workers", are conditions.
MEASURED = re.compile(r"/s|^(?:s|ms|us|ns|%|B|MB|MiB|KiB|GB|M|retries)$|^of\b|^times\b")
LESS_IS_BETTER = re.compile(r"(?<![\w/])(?:s|ms|us|ns|%|B|MB|MiB|KiB|GB|time|longest|retries|of the ideal|times what was used)(?![\w/])")
# Rows of other programs: their ratios say how the machine differed.
OF_PEERS = re.compile(r"floor|GNU|parallel|xargs|\bmake\b|ninja|CCTools|Work Queue 9|ProcessPool|concurrent\.futures|dask|\bcp\b|goal|peer|torch|loky")


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def figures_in(text):
    """A dictionary (bench, row, column) -> value. Rows that occur twice in a bench keep the last value."""
    found, bench, header = {}, "", None
    for line in text.splitlines():
        if line.startswith("#"):
            bench, header = line.strip("# "), None
        elif line.startswith("|"):
            cells = cells_of(line)
            if header is None:
                header = cells
            elif not set(line) <= set("|-: "):
                add_row(found, bench, header, cells)
        else:
            header = None
            match = LINE.match(line)
            if match:
                add_line(found, bench, match["row"].rstrip(":"), re.split(r"[(;,] *goal| for \d", match["rest"])[0])
    return found


def add_line(found, bench, row, rest):
    """Conditions before the first figure belong to the row's name; a unit that occurs again gets a number."""
    units = []
    for value, unit in VALUE.findall(rest):
        if MEASURED.search(unit):
            units.append(unit)
            again = units.count(unit)
            found[bench, row, unit if again == 1 else f"{unit} {again}"] = float(value)
        elif not units:
            row += f", {value} {unit}"


def add_row(found, bench, header, cells):
    for column, cell in list(zip(header, cells))[1:]:
        match = re.match(rf"({NUMBER})\s*(%|[A-Za-z/]*)", cell.split(";")[0])
        if match and column not in ("goal", "runs"):
            found[bench, cells[0], f"{column} {match[2]}".strip()] = float(match[1])


def less_is_better(row, column):
    """Times, sizes and shares of a processor; the unit stands in the column, or at the end of the row's name."""
    return bool(LESS_IS_BETTER.search(column) or LESS_IS_BETTER.search(row.rpartition(",")[2]))


def medians(runs):
    """Of several runs' figures, each figure's median."""
    keys = dict.fromkeys(key for run in runs for key in run)
    return {key: statistics.median([run[key] for run in runs if key in run]) for key in keys}


def is_of_peer(row, column):
    return bool(OF_PEERS.search(row) or OF_PEERS.search(column))


def lost(old, new):
    """Figures that only the old result has."""
    return [key for key in old if key not in new]


def ratios(old, new):
    """(bench, row, column, old, new, ratio) of the figures that both have; a ratio above 1 is an improvement."""
    for (bench, row, column), before in old.items():
        after = new.get((bench, row, column))
        if not after or not before:
            continue
        ratio = before / after if less_is_better(row, column) else after / before
        yield bench, row, column, before, after, ratio

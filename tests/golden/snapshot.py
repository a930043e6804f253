#!/usr/bin/env python3
"""What a build makes, before and after files move: installed files, exported names, tests, the wheel.

Usage: snapshot.py save BUILD FILE           writes the figures of a build folder (all of it is built, with tests)
       snapshot.py compare OLD NEW [RENAMES]  prints each difference, and ends with 1 if there is one

RENAMES has a pair OLD NEW on each line: regular expression and replacement, for names of tests and of build targets.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PORTABLE = ("work_queue_worker", "runtask")


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def installed(build, prefix):
    output("cmake", "--install", build, "--prefix", prefix)
    return {str(path.relative_to(prefix)): oct(path.lstat().st_mode) for path in prefix.rglob("*") if "share/work_queue/doc/" not in str(path)}


def exported(prefix):
    """Our names that each installed library gives to programs."""
    libraries = sorted(path for path in prefix.rglob("*.so*") if path.is_file() and not path.is_symlink())
    return {library.name: sorted(line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()
                                 if not re.search("boost|std|gnu_cxx", line.split()[-1][:16]))
            for library in libraries}


def needed(prefix):
    """The libraries that a worker's machine needs."""
    return {name: sorted(line.split()[0] for line in output("ldd", prefix / "bin" / name).splitlines()) for name in PORTABLE}


def size(prefix):
    return {name: (prefix / "bin" / name).stat().st_size for name in PORTABLE}


def tests(build):
    """Names of tests with their labels, without what differs between two runs of one program."""
    listed = json.loads(output("ctest", "--test-dir", build, "--show-only=json-v1"))["tests"]
    names = {}
    for test in listed:
        labels = [each["value"] for each in test["properties"] if each["name"] == "LABELS"]
        name = re.sub(r"\s*# GetParam\(\).*|<[0-9A-F -]+>|0x[0-9a-f]+", "", test["name"])
        names.setdefault(name, sorted(sum(labels, [])))
    return names


def alternatives(pattern):
    """"^(a|b(c|d))$" is "^(a)$" and "^(b(c|d))$"."""
    head, body, tail = re.fullmatch(r"(\^?\(?)(.*?)(\)?\$?)", pattern).groups()
    parts, depth = [""], 0
    for letter in body:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [head + part + tail for part in parts]


def patterns(names):
    """How many tests of this build each alternative of a pattern in scripts/test selects: a renamed room would drop out
    silently. (A sanitized build has a room's tests as one, ROOM.together.)"""
    text = (ROOT / "scripts/test").read_text()
    found = re.findall(r'"(\^[^"$]+\$?)"', text) + ["^(" + words.replace("$spared|", "") + ")" for words in re.findall(r'spared="([^"]+)"', text)]
    return {each: sum(bool(re.search(each, name)) for name in names) for pattern in found for each in alternatives(pattern)}


def targets(build):
    """Targets that scripts/test builds by name; each exists."""
    text = (ROOT / "scripts/test").read_text()
    known = {line.partition(":")[0] for line in output("cmake", "--build", build, "--target", "help").splitlines()}
    wanted = set(re.findall(r"\b(?:test_[a-z_]+|mpi_[a-z_]+|tcp_program)\b", " ".join(re.findall(r'^ +"(.*?)" -- ', text, re.MULTILINE | re.DOTALL))))
    return {name: name in known for name in sorted(wanted)}


def wheel(build, folder):
    program = f"import sys; sys.path.insert(0, {next(str(path.parent) for path in (ROOT / 'src').rglob('wheel.py'))!r}); " \
              f"import wheel; print(wheel.build_wheel({str(folder)!r}))"
    name = output("env", f"WORK_QUEUE_BUILD={build}", "/usr/bin/python3", "-B", "-c", program).strip()
    with zipfile.ZipFile(folder / name) as file:
        return {each.filename: oct(each.external_attr >> 16) for each in file.infolist()}


def save(build, file):
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "prefix"
        names = tests(build)
        figures = {"installed": installed(build, prefix), "exported": exported(prefix), "needed": needed(prefix),
                   "size": size(prefix), "tests": names, "patterns": patterns(names), "targets": targets(build),
                   "wheel": wheel(build, pathlib.Path(folder))}
    pathlib.Path(file).write_text(json.dumps(figures, indent=1, sort_keys=True))
    print(", ".join(f"{len(what)} {name}" for name, what in figures.items()))


def renamed(names, renames):
    result = {}
    for name, what in names.items():
        for old, new in renames:
            name = re.sub(old, new, name)
        result[name] = what
    return result


def compare(old, new, renames):
    """The differences, one a line."""
    lines = []
    for part in ("installed", "exported", "needed", "tests", "wheel"):
        before, after = renamed(old[part], renames) if part == "tests" else old[part], new[part]
        if part == "exported":  # a library's names, one by one
            before, after = ({f"{name} {each}": "" for name, names in which.items() for each in names} for which in (before, after))
        lines += [f"{part}: {name} is gone" for name in sorted(before.keys() - after.keys())]
        lines += [f"{part}: {name} is new" for name in sorted(after.keys() - before.keys())]
        lines += [f"{part}: {name} was {before[name]}, is {after[name]}" for name in sorted(before.keys() & after.keys())
                  if before[name] != after[name]]
    lines += [f"size: {name} was {old['size'][name]}, is {new['size'][name]}" for name in PORTABLE
              if abs(new["size"][name] - old["size"][name]) > old["size"][name] // 100]
    lines += [f"patterns: {pattern} selects nothing" for pattern, count in new["patterns"].items() if count == 0]
    lines += [f"targets: {name} does not exist" for name, there in new["targets"].items() if not there]
    return lines


def main(words):
    if len(words) == 3 and words[0] == "save":
        save(pathlib.Path(words[1]).resolve(), words[2])
    elif len(words) in (3, 4) and words[0] == "compare":
        old, new = (json.loads(pathlib.Path(word).read_text()) for word in words[1:3])
        renames = [line.split() for line in pathlib.Path(words[3]).read_text().splitlines()] if len(words) == 4 else []
        lines = compare(old, new, renames)
        print("\n".join(lines) or "no difference")
        return bool(lines)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

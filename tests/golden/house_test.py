#!/usr/bin/env python3
"""Source code rules that no compiler checks. Usage: house_test.py CHECKOUT; prints each violation as file:line: what."""

import pathlib
import re
import sys

PUBLIC = ("work_queue/", "cctools/")  # folders of src/include, by which programs include their headers
# The rooms that implement public headers; the other headers are inline, but for worker.h, whose worker_main() is in
# programs/worker and whose coprocess_main() is in api.
IMPLEMENTED_BY = {
    r"work_queue/(manager|task|factory|mpi|functions)\.h": "api",
    r"work_queue/(batch|job_executor)\.h": "functions/pool",
    r"work_queue/(slice_[a-z_]+|read_ahead)\.h": "slices/queue",
    r"cctools/.*": "bindings/c",
}
CODE = {".h", ".cpp", ".c", ".hpp"}
# Heavy headers and the only files that may include them.
HEAVY = {
    r"mpi\.h": [r"src/ranks/mpi/mpi_[a-z_]+\.cpp", r"tests/support/mpi_[a-z_]+\.(c|cpp)", r"tests/(mpi|bench)/[a-z_]+\.(c|cpp)",
                r"share/examples/manager/own_mpi\.cpp"],
    r"hwloc(\.h|/.*)": [r"src/node/machine/topology[a-z_]*\.cpp", r"tests/unit/node/machine/topology[a-z_]*_test\.cpp"],
    r"(hdf5|H5[A-Z]*public)\.h": [r"src/(records/hdf5|slices/sources|slices/queue)/h5_[a-z_]+\.cpp",
                                  r"tests/unit/(records/hdf5|slices/sources)/[a-z0-9_]+\.(h|cpp)",
                                  r"tests/unit/slices/queue/(slice_rows|h5_checkpoint)_test\.cpp", r"tests/bench/record_rate\.cpp",
                                  r"share/examples/slices/make_rows\.c", r"share/examples/decode/decode\.cpp"],
    r"openssl/.*": [r"src/net/frames/tls_[a-z_]+\.cpp", r"src/files/trees/content_key\.cpp"],
    r"boost/asio/ssl.*": [r"src/net/catalog_server/tls_stream\.cpp"],  # it includes OpenSSL's
    r"(re2/.*|zlib\.h)": [r"src/net/catalog/[a-z_]+\.cpp", r"share/examples/decode/decode\.cpp", r"tests/.*"],
    r"curl/.*": [r"src/node/process/fetch_url\.cpp"],
    r"(n?curses\.h|ncursesw/.*)": [r"src/views/terminal/curses_terminal\.cpp"],
    r"pmix\.h": [],  # loaded at run time
}
# The one file that may sleep: it polls, with a deadline, programs that notify nobody when they are ready.
MAY_PAUSE = {"tests/support/eventually.sh"}
SLEEP_IN_CODE = re.compile(r"\b(sleep_for|sleep_until|u?sleep|nanosleep|clock_nanosleep)\s*\(")
SLEEP_IN_SHELL = re.compile(r"^\s*((do|then|else|&&|\|\|)\s+)?sleep\s")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


class House:
    def __init__(self, root, implemented_by=IMPLEMENTED_BY):
        self.root = root
        self.implemented_by = implemented_by
        self.breaches = []
        self.rooms, self.folders = self.read_rooms()
        self.used = {room: set() for room in self.rooms}  # rooms that its files include

    def breach(self, path, number, what):
        self.breaches.append(f"{path.relative_to(self.root)}:{number}: {what}")

    def read_rooms(self):
        """The wq_room(NAME room...) calls of src/CMakeLists.txt, each at the start of a line or indented, and its list of folders."""
        path = self.root / "src/CMakeLists.txt"
        text = path.read_text()
        found = re.findall(r"^ *wq_room\(([a-z0-9_/\s]+)\)", text, re.MULTILINE)
        rooms = {words[0]: set(words[1:]) for words in (call.split() for call in found)}
        calls = len(re.findall(r"^ *wq_room\(", text, re.MULTILINE))
        if len(rooms) != calls:
            self.breach(path, 1, f"{calls} calls of wq_room, but {len(rooms)} rooms were read")
        folders = re.search(r"^set\(WQ_FOLDERS ([^)]*)\)", text, re.MULTILINE).group(1).split()
        for room in rooms:
            if room.split("/")[0] not in folders:
                self.breach(path, 1, f"{room} is in no folder of WQ_FOLDERS")
        return rooms, folders

    def files(self):
        for top in ("src", "tests", "scripts", "share", ".ci"):
            for path in sorted((self.root / top).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    yield path
        yield self.root / "CMakeLists.txt"
        for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml", ".flake8"):
            if (self.root / name).exists():
                yield self.root / name

    def room_of(self, place):
        """The room of a path below src: the longest one that it begins with."""
        parts = place.split("/")
        return next((room for n in (2, 1) if len(parts) > n and (room := "/".join(parts[:n])) in self.rooms), None)

    def check_arrow(self, path, number, room, other, what):
        """A room may use what its line names, and a folder only those before it."""
        self.used[room].add(other)
        if other == room:
            return
        if other not in self.rooms[room]:
            self.breach(path, number, f"{room} may not include {what} (src/CMakeLists.txt)")
        own, its = (self.folders.index(each.split("/")[0]) for each in (room, other))
        if its > own:
            self.breach(path, number, f"{room} may not include {what}: {self.folders[its]} comes after {self.folders[own]}")

    def check_includes(self, path, lines):
        name = str(path.relative_to(self.root))
        room = self.room_of(name[4:]) if name.startswith("src/") else None
        public = name.startswith(tuple("src/include/" + each for each in PUBLIC))
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            header = match.group(1)
            for heavy, allowed in HEAVY.items():
                if re.fullmatch(heavy, header) and not any(re.fullmatch(a, name) for a in allowed):
                    self.breach(path, number, f"{header} stays in {' '.join(allowed)}")
            if public and '"' in line and not (header.startswith(PUBLIC) or (path.parent / header).exists()):
                self.breach(path, number, f"a public header may not include {header}: users do not have it")
            if room and header.startswith(PUBLIC):
                self.check_public(path, number, room, header)
            elif room and (other := self.room_of(header)):
                self.check_arrow(path, number, room, other, header)

    def check_public(self, path, number, room, header):
        """What uses a public header is linked to the room that implements it. Rooms before that one use its types alone,
        or the linker says so."""
        implementer = next((each for pattern, each in self.implemented_by.items() if re.fullmatch(pattern, header)), room)
        if list(self.rooms).index(implementer) < list(self.rooms).index(room):
            self.check_arrow(path, number, room, implementer, header)

    def check_links(self):
        """A room's own CMakeLists.txt may not link to a room that its line does not name, nor embed another room's file."""
        targets = {"wq_" + room.replace("/", "_"): room for room in self.rooms}
        for room, allowed in self.rooms.items():
            path = self.root / "src" / room / "CMakeLists.txt"
            if not path.exists():
                continue
            own = "wq_" + room.replace("/", "_")
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = re.search(rf"target_link_libraries\((?:{own}\b|\$\{{wq_this\}})(.*)", line)
                for other in re.findall(r"\bwq_[a-z0-9_]+\b", match.group(1)) if match else []:
                    if other in targets and targets[other] not in allowed:
                        self.breach(path, number, f"{own} may not link {other} (src/CMakeLists.txt)")
                for word in re.findall(r"\S+", line) if line.startswith("wq_read_texts(") else []:
                    place = (path.parent / word.rstrip(")")).resolve()
                    if place.is_file() and self.room_of(str(place.relative_to(self.root / "src"))) not in allowed | {room}:
                        self.breach(path, number, f"{room} may not embed {word} (src/CMakeLists.txt)")

    def check_arrows(self):
        """A room's line names no room that the room does not include. Call it after all files are checked."""
        path = self.root / "src/CMakeLists.txt"
        for room, allowed in self.rooms.items():
            for other in sorted(allowed - self.used[room]):
                self.breach(path, 1, f"{room} includes nothing of {other}: its line need not name it")

    def check_places(self, path, lines):
        """A text that names a file or folder of src tells where it is. (CHANGELOG.md tells where things were.)"""
        for number, line in enumerate(lines, 1):
            for place in re.findall(r"(?<![\w./-])src/[a-z0-9_/]*[a-z0-9_*](?:\.[a-z]+)?\b", line):
                if not any(self.root.glob(place)) and not any(self.root.glob(place + "*")):
                    self.breach(path, number, f"there is no {place}")

    def check_presets(self):
        """CMake takes a preset's variable that no CMakeLists.txt reads without a word."""
        path = self.root / "CMakePresets.json"
        lists = "".join(each.read_text() for each in (self.root / "CMakeLists.txt", *(self.root / "src").rglob("CMakeLists.txt")))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in re.findall(r'"(WQ_\w+)"', line):
                if not re.search(rf"(option|set)\({name}\b", lists):
                    self.breach(path, number, f"no CMakeLists.txt has an option {name}")

    def check_text(self, path, lines):
        name = str(path.relative_to(self.root))
        if name.startswith("tests/golden/house_"):
            return
        sleep = SLEEP_IN_CODE if path.suffix in CODE or path.suffix == ".py" else SLEEP_IN_SHELL
        shell = path.suffix == ".sh" or (lines and re.match(r"#!.*\b(ba)?sh\b", lines[0]))
        for number, line in enumerate(lines, 1):
            if UNFINISHED.search(line):
                self.breach(path, number, "unfinished work goes into an issue")
            if (sleep is SLEEP_IN_CODE or shell) and name not in MAY_PAUSE and sleep.search(line):
                self.breach(path, number, "no sleep: wait for the thing itself")

    def check(self):
        checked = 0
        for path in self.files():
            try:
                lines = path.read_text().splitlines()
            except UnicodeDecodeError:
                continue  # a picture, or test data
            checked += 1
            self.check_text(path, lines)
            if path.suffix in CODE:
                self.check_includes(path, lines)
            if "golden/house" not in str(path):
                self.check_places(path, lines)
        self.check_links()
        self.check_arrows()
        self.check_presets()
        return checked


def main():
    house = House(pathlib.Path(sys.argv[1]).resolve())
    checked = house.check()
    print("\n".join(house.breaches))
    if not house.rooms or checked < 20:
        sys.exit(f"only {checked} files and {len(house.rooms)} rooms found: wrong folder?")
    if house.breaches:
        sys.exit(f"{len(house.breaches)} breaches in {checked} files")
    print(f"{checked} files of {len(house.rooms)} rooms: no breach")


if __name__ == "__main__":
    main()

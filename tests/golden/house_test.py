#!/usr/bin/env python3
"""Source code rules that no compiler checks. Usage: house_test.py CHECKOUT; prints each violation as file:line: what."""

import pathlib
import re
import sys

LINES_AT_MOST = 500
CODE = {".h", ".cpp", ".c", ".hpp"}
# Heavy headers and the only files that may include them.
HEAVY = {
    r"mpi\.h": [r"src/mpi/mpi_[a-z_]+\.cpp", r"tests/support/mpi_[a-z_]+\.(c|cpp)", r"tests/(mpi|bench)/[a-z_]+\.(c|cpp)",
                r"share/examples/manager/own_mpi\.cpp"],
    r"hwloc(\.h|/.*)": [r"src/machine/topology[a-z_]*\.cpp", r"tests/unit/machine/topology[a-z_]*_test\.cpp"],
    r"(hdf5|H5[A-Z]*public)\.h": [r"src/(stats|sources)/h5_[a-z_]+\.cpp", r"tests/unit/(stats|sources)/[a-z0-9_]+\.(h|cpp)",
                                  r"tests/unit/slice_queue/slice_rows_test\.cpp", r"tests/bench/record_rate\.cpp",
                                  r"share/examples/slices/make_rows\.c", r"share/examples/decode/decode\.cpp"],
    r"openssl/.*": [r"src/net/tls_[a-z_]+\.cpp", r"src/files/content_key\.cpp"],
    r"boost/asio/ssl.*": [r"src/catalog_server/tls_stream\.cpp"],  # it includes OpenSSL's
    r"(re2/.*|zlib\.h)": [r"src/catalog/[a-z_]+\.cpp", r"share/examples/decode/decode\.cpp", r"tests/.*"],
    r"curl/.*": [r"src/process/fetch_url\.cpp"],
    r"pmix\.h": [],  # loaded at run time
}
# The one file that may sleep: it polls, with a deadline, programs that notify nobody when they are ready.
MAY_PAUSE = {"tests/support/eventually.sh"}
SLEEP_IN_CODE = re.compile(r"\b(sleep_for|sleep_until|u?sleep|nanosleep|clock_nanosleep)\s*\(")
SLEEP_IN_SHELL = re.compile(r"^\s*((do|then|else|&&|\|\|)\s+)?sleep\s")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


class House:
    def __init__(self, root):
        self.root = root
        self.breaches = []
        self.rooms = self.read_rooms()
        self.used = {room: set() for room in self.rooms}  # rooms that its files include

    def breach(self, path, number, what):
        self.breaches.append(f"{path.relative_to(self.root)}:{number}: {what}")

    def read_rooms(self):
        """wq_room(NAME room...) calls of src/CMakeLists.txt, each at the start of a line."""
        path = self.root / "src/CMakeLists.txt"
        text = path.read_text()
        found = re.findall(r"^wq_room\(([a-z_\s]+)\)", text, re.MULTILINE)
        rooms = {words[0]: set(words[1:]) for words in (call.split() for call in found)}
        calls = len(re.findall(r"^wq_room\(", text, re.MULTILINE))
        if len(rooms) != calls:
            self.breach(path, 1, f"{calls} calls of wq_room, but {len(rooms)} rooms were read")
        return rooms

    def files(self):
        for top in ("src", "tests", "scripts", "share", ".ci"):
            for path in sorted((self.root / top).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    yield path
        yield self.root / "CMakeLists.txt"

    def check_includes(self, path, lines):
        name = str(path.relative_to(self.root))
        room = path.relative_to(self.root).parts[1] if name.startswith("src/") else None
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            header = match.group(1)
            first = header.split("/")[0]
            # Public headers: of api, or of a room that implements one.
            if first == "work_queue" and "api" in self.rooms.get(room, ()):
                of_slices = header.startswith("work_queue/slice_") and "slice_queue" in self.rooms[room]
                first = "slice_queue" if of_slices else "api"
            if room in self.rooms and "/" in header and first in self.rooms:
                self.used[room].add(first)
                if first != room and first not in self.rooms[room]:
                    self.breach(path, number, f"{room} may not include {header} (src/CMakeLists.txt)")
            for heavy, allowed in HEAVY.items():
                if re.fullmatch(heavy, header) and not any(re.fullmatch(a, name) for a in allowed):
                    self.breach(path, number, f"{header} stays in {' '.join(allowed)}")

    def check_links(self):
        """A room's own CMakeLists.txt may not link to a room that its line does not name."""
        for room, allowed in self.rooms.items():
            path = self.root / "src" / room / "CMakeLists.txt"
            if not path.exists():
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = re.search(rf"target_link_libraries\((?:wq_{room}\b|\$\{{wq_this\}})(.*)", line)
                for other in re.findall(r"\bwq_([a-z_]+)\b", match.group(1)) if match else []:
                    if other in self.rooms and other not in allowed:
                        self.breach(path, number, f"wq_{room} may not link wq_{other} (src/CMakeLists.txt)")

    def check_arrows(self):
        """A room's line names no room that the room does not include. Call it after all files are checked."""
        path = self.root / "src/CMakeLists.txt"
        for room, allowed in self.rooms.items():
            for other in sorted(allowed - self.used[room]):
                self.breach(path, 1, f"{room} includes nothing of {other}: its line need not name it")

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
        if len(lines) > LINES_AT_MOST:
            self.breach(path, len(lines), f"more than {LINES_AT_MOST} lines")
        if name == "tests/golden/house_test.py":
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

#!/usr/bin/env python3
"""The rules of house_test.py find what they are for: a small sound house, and one breach of each kind in it.

Usage: house_rules_test.py
"""

import pathlib
import tempfile
import unittest

import house_test

SOUND = {
    "CMakeLists.txt": "option(WQ_TESTS)\n",
    "CMakePresets.json": '{"WQ_TESTS": "ON"}\n',
    "README.md": "See `src/low/a/a.h`.\n",
    "src/CMakeLists.txt": "set(WQ_FOLDERS base include low api)\nwq_room(base)\nwq_room(low/a base)\nwq_room(low/b low/a)\nwq_room(api low/a)\n",
    "src/base/text.h": "",
    "src/include/work_queue/manager.h": '#include <string>\n#include "work_queue/task.h"\n',
    "src/low/a/a.h": '#include "base/text.h"\n#include "work_queue/manager.h"\n',
    "src/low/a/script.py": "",
    "src/low/b/b.cpp": '#include "low/a/a.h"\n',
    "src/low/b/CMakeLists.txt": "wq_read_texts(script ../a/script.py)\ntarget_link_libraries(wq_low_b PRIVATE wq_low_a)\n",
    "src/api/manager.cpp": '#include "work_queue/manager.h"\n#include "low/a/a.h"\n',
}
# What is added to a file, and what is then said.
BREACHES = {
    "a folder that comes later": ("src/low/a/a.h", '#include "api/x.h"\n', "low/a may not include api/x.h: api comes after low"),
    "a room that the line does not name": ("src/low/b/b.cpp", '#include "base/text.h"\n', "low/b may not include base/text.h (src/CMakeLists.txt)"),
    "a room that the line need not name": ("src/CMakeLists.txt", "wq_room(low/c base)\n", "low/c includes nothing of base"),
    "a room in no folder": ("src/CMakeLists.txt", "wq_room(lost)\n", "lost is in no folder of WQ_FOLDERS"),
    "a line that is not read": ("src/CMakeLists.txt", "wq_room(LOUD)\n", "calls of wq_room, but"),
    "a public header's room": ("src/low/b/b.cpp", '#include "work_queue/batch.h"\n', "low/b may not include work_queue/batch.h"),
    "a public header with one of ours": ("src/include/work_queue/manager.h", '#include "base/text.h"\n', "users do not have it"),
    "an embedded file": ("src/low/b/CMakeLists.txt", "wq_read_texts(more ../../api/manager.cpp)\n", "low/b may not embed ../../api/manager.cpp"),
    "a linked room": ("src/low/b/CMakeLists.txt", "target_link_libraries(${wq_this} PRIVATE wq_base)\n", "wq_low_b may not link wq_base"),
    "a heavy header": ("src/low/a/a.h", "#include <mpi.h>\n", "mpi.h stays in"),
    "a file that is not there": ("README.md", "And `src/low/gone.h`.\n", "there is no src/low/gone.h"),
    "a preset's variable": ("CMakePresets.json", '{"WQ_TSETS": "ON"}\n', "no CMakeLists.txt has an option WQ_TSETS"),
    "unfinished work": ("src/low/a/a.h", "// TO" + "DO\n", "unfinished work"),
    "a sleep": ("src/low/b/b.cpp", "void f() { us" + "leep(1); }\n", "no sleep"),
}


class Rules(unittest.TestCase):
    def breaches(self, added=None, text=""):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name, content in SOUND.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content + (text if name == added else ""))
            house = house_test.House(root, {"work_queue/manager\\.h": "api", "work_queue/batch\\.h": "base"})
            house.check()
            return house.breaches

    def test_a_sound_house(self):
        self.assertEqual(self.breaches(), [])

    def test_one_breach_of_each_kind(self):
        for kind, (file, text, said) in BREACHES.items():
            with self.subTest(kind):
                found = self.breaches(file, text)
                self.assertTrue(any(said in line for line in found), found)


if __name__ == "__main__":
    unittest.main()

"""check_files finds each kind of violation at its line, and nothing in files without one."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_files"


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        for path, content in files.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        done = subprocess.run([sys.executable, SCRIPT, "--root", folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()


class CheckFiles(unittest.TestCase):
    def test_what_is_allowed(self):
        self.assertEqual(check({
            "a.cpp": b"int x;\n" * 600,
            "b.csv": b"a\tb\n" * 1000,
            "c.md": "a × b\n".encode(),
            "d.png": b"\x89PNG\r\n",
            "empty.h": b"",
            "LICENSE": b"\tanything  \n",
        }), (0, []))

    def test_each_violation(self):
        unfinished = b"// TO" + b"DO: later\n"
        self.assertEqual(check({
            "a.cpp": b"int x;\n" * 601,
            "b.h": b"int x;\n\tint y;\n",
            "c.cpp": b"int x; \n",
            "d.md": b"x\r\n",
            "e.py": b"x = 1",
            "f.cpp": b"int x;\n" + unfinished,
            "g.txt": b"ok\n\xff\n",
            "script": b"#!/bin/sh\n" + b"true\n" * 600,
        }), (1, [
            "a.cpp:601: has 601 lines, more than 600; split it by what its parts answer for",
            "b.h:2: has a tab; use blanks",
            "c.cpp:1: has blanks at the end of the line; remove them",
            "d.md:1: has a carriage return; end lines in LF alone",
            "d.md:1: has blanks at the end of the line; remove them",
            "e.py:1: does not end in a newline; add one",
            "f.cpp:2: has a note of unfinished work; finish it, or write an issue",
            "g.txt:2: is not UTF-8; save it as UTF-8",
            "script:601: has 601 lines, more than 600; split it by what its parts answer for",
        ]))


if __name__ == "__main__":
    unittest.main()

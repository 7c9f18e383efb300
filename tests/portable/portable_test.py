"""Whether the portable build needs glibc 2.36 and nothing else, and works where there is nothing else.

    python3 tests/portable/portable_test.py PREFIX      as scripts/portable does, with what it has installed
"""
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PREFIX = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NEWEST_GLIBC = (2, 36)
GLIBC = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
CASES = "m={1,9,40} n={5,48} k={0,33} dtype={f32,bf16,i8} b={row,col}\nm=9 n=48 k=20 dtype=f32 epilogue=gelu(acc + bias[n])\n"


def output(*command, **options):
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, check=False, **options)
    if ran.returncode != 0:
        raise AssertionError(f"{command} gave {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def executable():
    return PREFIX / "bin" / "gemmsmith"


class Executable(unittest.TestCase):
    def test_needs_glibc_alone(self):
        dynamic = output("readelf", "-dW", executable())
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        self.assertIn("libc.so.6", needed)
        self.assertLessEqual(needed, GLIBC)
        self.assertNotRegex(dynamic, r"\((RPATH|RUNPATH)\)")

    def test_needs_no_newer_glibc(self):
        versions = set(re.findall(r"Name: (\S+)", output("readelf", "-VW", executable())))
        self.assertTrue(versions)
        for version in versions:
            self.assertTrue(version.startswith("GLIBC_"), version)
            self.assertLessEqual(tuple(int(part) for part in version[len("GLIBC_"):].split(".")), NEWEST_GLIBC, version)

    def test_is_stripped_and_of_the_baseline(self):
        self.assertNotIn(".symtab", output("readelf", "-SW", executable()))
        needs = re.findall(r"x86 ISA needed: (.*)", output("readelf", "-nW", executable()))
        for isa in needs:
            self.assertIn(isa.strip(), ("x86-64-baseline", "x86-64-v2"))

    def test_works_in_an_empty_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            cases = pathlib.Path(folder, "some.cases")
            cases.write_text(CASES)
            checked = output(executable(), "check", cases, env={}, cwd=folder)
            self.assertRegex(checked, r"0 failed|passed")
            tuned = json.loads(output(executable(), "tune", "64x64x64", "--budget", "1s", "--store", "none", "--sources", "native",
                                      "--json", env={}, cwd=folder))
            report = tuned["problems"][0]["report"]
            self.assertEqual(report["candidates"][report["winner"]]["source"], "native")

    def test_opens_the_libraries_that_there_are(self):
        installed = output("/sbin/ldconfig", "-p")
        sources = {source["name"]: source for source in json.loads(output(executable(), "doctor", "--json", env={}))["sources"]}
        for name, library in (("openblas", "libopenblas.so.0"), ("onednn", "libdnnl.so.2")):
            if library in installed:
                self.assertTrue(sources[name]["supported"], sources[name]["reason"])

    # A root with the executable and glibc in it, and no /proc, /sys, /dev, /tmp.
    def test_works_where_there_is_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder, "root")
            for needed in [executable(), *self.loaded()]:
                place = root / ("gemmsmith" if needed == executable() else str(needed).lstrip("/"))
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(needed, place)
            (root / "some.cases").write_text(CASES)
            places = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin"
            unshare, chroot = shutil.which("unshare", path=places), shutil.which("chroot", path=places)
            enter = [unshare, "--user", "--map-root-user", chroot, root] if os.getuid() else [chroot, root]
            if None in enter:
                self.skipTest("skipped: no unshare or chroot")
            if subprocess.run([*map(str, enter), "/gemmsmith", "--version"], capture_output=True, check=False).returncode != 0:
                self.skipTest("skipped: no other root can be entered here")
            self.assertRegex(output(*enter, "/gemmsmith", "check", "/some.cases", env={}), r"0 failed|passed")
            tuned = json.loads(output(*enter, "/gemmsmith", "tune", "64x64x64", "--budget", "1s", "--json", env={}))
            report = tuned["problems"][0]["report"]
            self.assertEqual(report["candidates"][report["winner"]]["source"], "native")
            self.assertIn("cannot be opened", [s["reason"] for s in report["sources"] if s["name"] == "openblas"][0])
            stored = json.loads(output(*enter, "/gemmsmith", "store", "list", "--json", env={}))
            self.assertEqual(len(stored), 1)

    @staticmethod
    def loaded():
        listed = output("ldd", executable())
        return [pathlib.Path(path) for path in re.findall(r"(/\S+) \(0x", listed)]


class Library(unittest.TestCase):
    # What is linked in is local, so that a program may have its own LLVM or SQLite.
    def test_has_the_symbols_of_its_interfaces_alone(self):
        archive, = PREFIX.glob("lib*/libgemmsmith.a")
        text = (ROOT / "cmake" / "exports.map").read_text()
        patterns = re.findall(r"^ +((?:gs_|_Z)\S*);", text, re.MULTILINE)
        defined = [line.split()[-1] for line in output("nm", "-g", "--defined-only", archive).splitlines() if len(line.split()) == 3]
        self.assertIn("gs_gemm_run", defined)
        self.assertEqual([name for name in defined if not any(fnmatch.fnmatchcase(name, p) for p in patterns)], [])

    def test_needs_the_standard_library_and_glibc(self):
        archive, = PREFIX.glob("lib*/libgemmsmith.a")
        undefined = output("nm", "-u", "-C", archive)
        for name in ("llvm::", "mlir::", "sqlite3_", "ZSTD_", "inflate", "gemmsmith::"):
            self.assertNotIn(" U " + name, undefined)


if __name__ == "__main__":
    if PREFIX is None:
        sys.exit("portable_test.py: name the folder that scripts/portable installs into")
    unittest.main()

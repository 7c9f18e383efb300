"""Documents that name the tests which hold their sentences: every test that they name is there."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ("docs/numerics.md", "tests/data/README.md")
TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
# layer.Suite.Test, layer.Instance/Suite.Test, Suite.Test; the test may be cut short by an ellipsis or be a star.
NAMED = re.compile(r"^(?:[a-z]+\.)?(?:[A-Z]\w*/)?([A-Z]\w*)\.(\w+…?|\*)$")


def tests():
    for path in sorted((ROOT / "tests").rglob("*_test.cpp")):
        yield from TEST.findall(path.read_text(encoding="utf-8"))


class NamedTests(unittest.TestCase):
    def test_are_there(self):
        known = list(tests())
        self.assertGreater(len(known), 300)
        named = 0
        for document in DOCUMENTS:
            for token in re.findall(r"`([^`\s]+)`", (ROOT / document).read_text(encoding="utf-8")):
                match = NAMED.match(token)
                if not match:
                    continue
                named += 1
                suite, test = match.groups()
                found = any(s == suite and (test == "*" or t == test or (test.endswith("…") and t.startswith(test[:-1])))
                            for s, t in known)
                self.assertTrue(found, f"{document}: {token} is not a test")
        self.assertGreater(named, 40)


if __name__ == "__main__":
    unittest.main()

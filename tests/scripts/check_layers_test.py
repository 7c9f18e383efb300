"""check_layers finds each kind of violation, at its line and with its whole message, and nothing in a tree without one."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_layers"


def check(files):
    """Runs the script over a tree of {path: text}; returns its exit code and the lines that it printed."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        done = subprocess.run([sys.executable, SCRIPT, "--root", folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()


class CheckLayers(unittest.TestCase):
    def expect(self, files, *violations):
        self.maxDiff = None
        self.assertEqual(check(files), (1 if violations else 0, list(violations)))

    def test_what_is_allowed(self):
        self.expect({
            "include/gemmsmith/result.h": "#include <string>\n",
            "include/gemmsmith/problem.h": '#include "gemmsmith/result.h"\n#include <vector>\n',
            "include/gemmsmith/gemmsmith.h": "#include <stddef.h>\n#include <stdint.h>\n",
            "src/support/text.h": '#include "gemmsmith/result.h"\n',
            "src/layout/shape.cpp": '#include "layout/shape.h"\n#include "support/text.h"\n',
            "src/layout/shape.h": "#pragma once\n",
            "src/problem/parse.cpp": '#include <nlohmann/json.hpp>\n#include "gemmsmith/problem.h"\n#include "expr/tree.h"\n',
            "src/ir/build.cpp": "#include <mlir/IR/Builders.h>\n",
            "src/targets/cpu/jit.cpp": '#include "compiler/lower.h"\n#include "llvm/IR/Module.h"\n#include "targets/cpu/jit.h"\n',
            "src/sources/source.h": '#include "gemmsmith/problem.h"\n',
            "src/sources/onednn/library.cpp": '#include "sources/source.h"\n#include "dnnl.h"\n',
            "src/sources/native/kernel.cpp": '#include "templates/list.h"\n#include "compiler/target.h"\n',
            "src/tuner/search.cpp": '#include "sources/source.h"\n#include "gemmsmith/tune.h"\n',
            "src/api/sources.cpp": '#include "sources/openblas/openblas_source.h"\n#include "targets/cpu/jit.h"\n',
            "tools/gemmsmith/tune.cpp": '#include "gemmsmith/gemm.h"\n#include "output/table.h"\n#include <CLI/CLI.hpp>\n'
                                        'const char* help = "--sources openblas";\n',
            "tools/gemmsmith/output/table.h": "// cublas in a comment\n",
        })

    def test_a_layer_above(self):
        self.expect({"src/layout/a.cpp": "\n#include \"problem/b.h\"\n"},
                    "src/layout/a.cpp:2: includes problem/b.h: layout may include support; "
                    "move what is needed down to support, or the user of it up")

    def test_the_lowest_layer(self):
        self.expect({"src/support/a.cpp": '#include "layout/b.h"\n'},
                    "src/support/a.cpp:1: includes layout/b.h: support may include no other layer; move what is needed into it")

    def test_a_public_header_counts_as_its_layer(self):
        self.expect({"src/expr/a.cpp": '#include "gemmsmith/problem.h"\n'},
                    "src/expr/a.cpp:1: includes gemmsmith/problem.h: expr may include support; "
                    "move what is needed down to support, or the user of it up")

    def test_a_public_header_obeys_its_layer(self):
        self.expect({"include/gemmsmith/layout.h": '#include "gemmsmith/tune.h"\n'},
                    "include/gemmsmith/layout.h:1: includes gemmsmith/tune.h: layout may include support; "
                    "move what is needed down to support, or the user of it up")

    def test_public_headers_stand_alone(self):
        rule = ("public headers include the standard library and each other only")
        self.expect({"include/gemmsmith/tune.h": '#include <sqlite3.h>\n#include "support/text.h"\n'},
                    f"include/gemmsmith/tune.h:1: includes sqlite3.h: {rule}; "
                    "hide it behind a pointer to a struct that the source file defines",
                    f"include/gemmsmith/tune.h:2: includes support/text.h: {rule}; "
                    "move what is needed into include/gemmsmith")

    def test_a_public_header_without_a_layer(self):
        self.expect({"include/gemmsmith/new.h": "#pragma once\n"},
                    "include/gemmsmith/new.h:1: a public header without a layer: every header of include/gemmsmith belongs to "
                    "the layer that implements it; add it to PUBLIC in scripts/check_layers")

    def test_siblings(self):
        self.expect({"src/sources/openblas/a.cpp": '#include "sources/onednn/b.h"\n',
                     "src/targets/cpu/a.cpp": '#include "targets/cuda/b.h"\n'},
                    "src/sources/openblas/a.cpp:1: includes sources/onednn/b.h: sources never include each other; "
                    "move what both need to src/sources, the interface of all sources, or below",
                    "src/targets/cpu/a.cpp:1: includes targets/cuda/b.h: targets never include each other; "
                    "move what both need to the compiler or below")

    def test_a_sibling_by_a_relative_path(self):
        self.expect({"src/sources/openblas/a.cpp": '#include "../onednn/b.h"\n', "src/sources/onednn/b.h": ""},
                    "src/sources/openblas/a.cpp:1: includes ../onednn/b.h: sources never include each other; "
                    "move what both need to src/sources, the interface of all sources, or below")

    def test_the_tuner_knows_the_interface_of_sources_only(self):
        self.expect({"src/tuner/a.cpp": '#include "sources/native/b.h"\n'},
                    "src/tuner/a.cpp:1: includes sources/native/b.h: tuner may include support layout expr problem sources; "
                    "move what is needed down to sources, or the user of it up")

    def test_mlir_outside_its_layers(self):
        rule = ("MLIR and LLVM headers belong to ir dsl templates compiler targets/* only; "
                "go through a header of the compiler that names no MLIR type")
        self.expect({"src/tuner/a.cpp": '#include "mlir/IR/Builders.h"\n',
                     "tools/gemmsmith/a.cpp": "#include <llvm/Support/raw_ostream.h>\n",
                     "include/gemmsmith/gemm.h": '#include "mlir-c/IR.h"\n'},
                    f"include/gemmsmith/gemm.h:1: includes mlir-c/IR.h: {rule}",
                    f"src/tuner/a.cpp:1: includes mlir/IR/Builders.h: {rule}",
                    f"tools/gemmsmith/a.cpp:1: includes llvm/Support/raw_ostream.h: {rule}")

    def test_tools_use_public_headers(self):
        self.expect({"tools/gemmsmith/a.cpp": '#include "support/text.h"\n', "src/support/text.h": ""},
                    "tools/gemmsmith/a.cpp:1: includes support/text.h: tools include public headers only; "
                    "offer what is needed in include/gemmsmith")

    def test_the_library_includes_no_tool(self):
        self.expect({"src/api/a.cpp": '#include "../../tools/gemmsmith/b.h"\n', "tools/gemmsmith/b.h": ""},
                    "src/api/a.cpp:1: includes ../../tools/gemmsmith/b.h: the library includes nothing outside src and include; "
                    "move it into a layer")

    def test_a_vendor_outside_its_folder(self):
        self.expect({"src/tuner/a.cpp": '// openblas may be named here\nint x = 0;\nconst char* y = "OpenBLAS";\n',
                     "src/sources/native/a.cpp": "int dnnl_version();\n",
                     "tools/gemmsmith/a.cpp": 'const char* y = "cutlass";\nint cutlass_version();\n'},
                    "src/sources/native/a.cpp:1: names dnnl: a vendor's name belongs to src/sources/onednn only; "
                    "ask for it through the Source interface",
                    "src/tuner/a.cpp:3: names openblas: a vendor's name belongs to src/sources/openblas only; "
                    "ask for it through the Source interface",
                    "tools/gemmsmith/a.cpp:2: names cutlass: a vendor's name belongs to src/sources/cutlass only; "
                    "ask for it through the Source interface")

    def test_a_file_in_no_layer(self):
        self.expect({"src/misc/a.cpp": ""},
                    "src/misc/a.cpp:1: a file in no layer: src has the layers support layout expr problem ir dsl templates "
                    "compiler targets/* sources sources/* tuner api; move it into one of them, or add a layer to "
                    "docs/architecture.md and scripts/check_layers")

    def test_habits(self):
        self.expect({"src/tuner/a.cpp": '#include <cstdio>\n// printf( in a comment\nvoid f() { printf("x"); }\n',
                     "src/expr/a.cpp": 'auto x = std::getenv("HOME");\n',
                     "src/support/environment.cpp": 'auto x = std::getenv("HOME");\n'},
                    "src/expr/a.cpp:1: uses getenv: environment variables are touched in src/support/environment.cpp only; "
                    "use support/environment.h",
                    "src/tuner/a.cpp:3: uses printf: the library never prints and never exits; return a Result, or call back")

    def test_includes_in_comments_do_not_count(self):
        self.expect({"src/support/a.cpp": '/*\n#include "api/b.h"\n*/\n// #include "api/b.h"\n'})

    def test_links(self):
        self.expect({"src/layout/CMakeLists.txt": "gs_layer(layout DEPENDS support problem)\n",
                     "src/tuner/CMakeLists.txt": "gs_layer(tuner DEPENDS problem source_interface LINK SQLite::SQLite3)\n",
                     "src/sources/native/CMakeLists.txt": "# a comment\ngs_layer(source_native DEPENDS source_onednn)\n"},
                    "src/layout/CMakeLists.txt:1: links gs_problem: layout may include support; "
                    "move what is needed down to support, or the user of it up",
                    "src/sources/native/CMakeLists.txt:2: links gs_source_onednn: sources never include each other; "
                    "move what both need to src/sources, the interface of all sources, or below")

    def test_this_repository(self):
        done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()

// The executable as a user meets it: usage, errors and their exit codes, and the main job once, in small.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "executable/run.h"

namespace gemmsmith {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

const Words kCommands = {"tune",    "explain", "check",    "bench",  "emit",
                         "compile", "layout",  "simulate", "doctor", "store"};

// A folder of its own for each test, with a store in it.
class Executable : public testing::Test {
 protected:
  Executable()
      : folder_(std::filesystem::path(testing::TempDir()) / ("gemmsmith_executable_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Executable() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name)) << content;
    return path(name);
  }
  std::string store() const { return path("store.sqlite"); }

 private:
  std::filesystem::path folder_;
};

TEST_F(Executable, HelpHasExamplesForEveryCommand) {
  const Ran whole = run_gemmsmith({"--help"});
  EXPECT_EQ(whole.code, 0);
  for (const std::string& command : kCommands) {
    EXPECT_NE(whole.out.find("\n  " + command), std::string::npos) << whole.out;
    const Ran ran = run_gemmsmith({command, "--help"});
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_NE(ran.out.find("Examples:\n  gemmsmith " + command), std::string::npos) << ran.out;
  }
  const Ran version = run_gemmsmith({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, "gemmsmith " GEMMSMITH_VERSION "\n");
}

TEST_F(Executable, UsageErrorsHaveFivePartsAndExitWith2) {
  const std::string known = "known: tune, explain, check, bench, emit, compile, layout, simulate, doctor, store";
  const struct {
    Words arguments;
    std::string error;
  } cases[] = {
      {{},
       "gemmsmith: no command is given; one of tune, explain, check, bench, emit, compile, layout, simulate, doctor, "
       "store; "
       "see gemmsmith --help"},
      {{"tun"}, "gemmsmith: tun is not a command; near it: tune; " + known},
      {{"assemble"}, "gemmsmith: assemble is not a command; " + known},
      {{"tune", "8x8x8", "--bugdet", "1s"},
       "gemmsmith tune: --bugdet is not an option; near it: --budget; see gemmsmith tune --help"},
      {{"tune", "8x8x8", "--budget", "10x"}, "--budget: 10x is not a duration; try 500ms, 10s, 2m"},
      {{"tune", "8x8x8", "--tokens", "4"},
       "--tokens: 4 is for model configurations, and none is given; name a config.json, or leave --tokens out"},
      {{"emit", "8x8x8", "--stage", "asn"},
       "--stage: asn is not a stage; near it: asm; known: mlir, llvm, asm, ptx, resources, cubin, sass, object"},
      {{"layout", "(4,8):(1)"},
       "layout, column 7: (4,8):(1) has strides that are not nested like the shape; a stride for each extent"},
      {{"layout", "(4,8)", "--svgs", "x"},
       "gemmsmith layout: --svgs is not an option; near it: --svg; see gemmsmith layout --help"},
      {{"layout", "(8,8):(8,1)", "--compose", "4:3"},
       "composition: (8,8):(8,1) o 4:3 does not fit: leaf 4:3 of the right side steps by 3 through the leaf 8:8 of the "
       "left "
       "side, and neither 3 nor 8 divides the other; steps of 2 or 4\n  while applying --compose"},
      {{"check", "/nowhere/a.cases"}, "/nowhere/a.cases: the file does not exist"},
      {{"tune", "/nowhere/a.json"}, "/nowhere/a.json: the file does not exist"},
  };
  for (const auto& c : cases) {
    const Ran ran = run_gemmsmith(c.arguments);
    EXPECT_EQ(ran.code, 2) << c.error;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.err, "error: " + c.error + "\n");
  }
}

TEST_F(Executable, LayoutsAreComputedAndDrawn) {
  const Ran plain = run_gemmsmith({"layout", "(2,3):(3,1)"});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.out, "(2,3):(3,1)\nsize 6, cosize 6\n    0 1 2\n  +------\n0 | 0 1 2\n1 | 3 4 5\n");
  // In the order of the command line, not of the help text.
  const Ran steps =
      run_gemmsmith({"layout", "(4,8):(1,4)", "--zipped-divide", "(2,2)", "--group", "0,2", "--coalesce"});
  EXPECT_EQ(steps.out.substr(0, steps.out.find('\n')), "(2,2,2,4):(1,4,2,8)");
  EXPECT_EQ(run_gemmsmith({"layout", "(8,64):(128,2) o Sw<3,4,3>", "--evaluate", "(1,0)"}).out, "144\n");
  const Ran json = run_gemmsmith({"layout", "(m,4):(4,1)", "--json"});
  EXPECT_EQ(Json::parse(json.out)["size"], "4*m");
  const Ran drawn = run_gemmsmith({"layout", "((2,4),8):((1,2),16)", "--svg", path("layout.svg")});
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  std::ifstream file(path("layout.svg"));
  std::string first;
  std::getline(file, first);
  EXPECT_TRUE(first.starts_with("<svg ")) << first;
}

TEST_F(Executable, NamesWhatIsKnownForUnknownDevicesAndSources) {
  const Ran device = run_gemmsmith({"doctor", "--device", "gpu"});
  EXPECT_EQ(device.code, 2);
  EXPECT_NE(device.err.find("cpu"), std::string::npos) << device.err;
  const Ran source = run_gemmsmith({"tune", "8x8x8", "--store", "none", "--sources", "nativ"});
  EXPECT_EQ(source.code, 2);
  EXPECT_TRUE(source.err.starts_with("error: --sources: nativ is not a source; near it: native; known: native, "))
      << source.err;
}

TEST_F(Executable, DoctorKnowsTheDeviceAndMakesNoStore) {
  const Ran ran = run_gemmsmith({"doctor", "--json", "--store", store()});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json report = Json::parse(ran.out);
  EXPECT_EQ(report["device"]["kind"], "cpu");
  EXPECT_GT(report["device"]["peak_f32_gflops"].get<double>(), 0);
  EXPECT_FALSE(report["sources"].empty());
  for (const Json& source : report["sources"])
    EXPECT_TRUE(source["supported"].get<bool>() || !source["reason"].get<std::string>().empty()) << source;
  EXPECT_EQ(report["store"]["state"], "not there yet: the first tuning makes it");
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(Executable, TunesOnceAndThenAnswersFromTheStore) {
  const Words tune = {"tune", "m=33", "n=65", "k=17", "--budget", "1s", "--store", store(), "--json"};
  const Ran first = run_gemmsmith(tune);
  ASSERT_EQ(first.code, 0) << first.err;
  const Json one = Json::parse(first.out), report = one["problems"][0]["report"];
  EXPECT_FALSE(report["from_store"].get<bool>());
  const int winner = report["winner"];
  ASSERT_GE(winner, 0);
  EXPECT_EQ(report["candidates"][winner]["state"], "won");
  EXPECT_TRUE(report["candidates"][winner]["accuracy"]["passed"].get<bool>());

  const Ran second = run_gemmsmith(tune);
  ASSERT_EQ(second.code, 0) << second.err;
  const Json again = Json::parse(second.out)["problems"][0]["report"];
  EXPECT_TRUE(again["from_store"].get<bool>());
  EXPECT_EQ(again["candidates"], report["candidates"]);

  const Ran explained = run_gemmsmith({"explain", "33x65x17", "--store", store()});
  ASSERT_EQ(explained.code, 0) << explained.err;
  EXPECT_EQ(explained.err, "");
  const std::string config = report["candidates"][winner]["config"];
  EXPECT_NE(explained.out.find(config), std::string::npos) << explained.out;
  EXPECT_NE(explained.out.find("read from the store"), std::string::npos) << explained.out;
}

TEST_F(Executable, StoresAreListedExchangedAndCleaned) {
  const std::string other = path("other.sqlite"), lines = path("decisions.jsonl");
  ASSERT_EQ(run_gemmsmith({"tune", "8x8x8", "--budget", "500ms", "--store", store()}).code, 0);
  const auto run = [&](Words words) {
    words.insert(words.begin(), "store");
    const Ran ran = run_gemmsmith(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    return ran.out;
  };
  EXPECT_EQ(Json::parse(run({"list", "--here", "--store", store(), "--json"})).size(), 1u);
  EXPECT_NE(run({"show", "8x8x8", "--store", store()}).find("winner"), std::string::npos);
  EXPECT_EQ(run({"export", "--store", store(), "-o", lines}), "");
  EXPECT_EQ(run({"import", lines, "--store", other}), "1 decision added, 0 were there already\n");
  EXPECT_EQ(run({"merge", other, "--store", store()}), "0 decisions added, 1 was there already\n");
  EXPECT_EQ(run({"diff", other, "--store", store()}), "no differences\n");
  EXPECT_EQ(run({"diff", other, "--store", store(), "--json"}), "[]\n");
  EXPECT_EQ(run({"verify", "--store", other}), other + " is sound\n");
  EXPECT_TRUE(run({"gc", "--store", other, "--older-than", "90d"}).starts_with("0 decisions dropped, 1 kept, "));
  EXPECT_EQ(Json::parse(run({"gc", "--store", other, "--dry-run", "--json"}))["kept"], 1);
}

TEST_F(Executable, StoreErrorsHaveFivePartsToo) {
  const std::string commands = "list, show, diff, export, import, merge, quarantine, verify, gc",
                    none = path("none.sqlite");
  const struct {
    Words arguments;
    int code;
    std::string error;
  } cases[] = {
      {{"store"}, 2, "gemmsmith store: no command is given; one of " + commands + "; see gemmsmith store --help"},
      {{"store", "lst"}, 2, "gemmsmith store: lst is not a command; near it: list; known: " + commands},
      {{"store", "list", "--jsn"},
       2,
       "gemmsmith store list: --jsn is not an option; near it: --json; see gemmsmith store list --help"},
      {{"store", "list", "--store", none},
       2,
       "--store: " + none + " does not exist; name another file; gemmsmith tune makes the first"},
      {{"store", "gc", "--older-than", "soon"},
       2,
       "--older-than: soon is not a number of days, 1d to 100000d; try 90d"},
      {{"store", "import", write("bad.jsonl", "\n{}\n"), "--store", store()},
       1,
       path("bad.jsonl") + ":2: report: key \"problem\" is missing"},
  };
  for (const auto& c : cases) {
    const Ran ran = run_gemmsmith(c.arguments);
    EXPECT_EQ(ran.code, c.code) << c.error;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.err, "error: " + c.error + "\n");
  }
  EXPECT_FALSE(std::filesystem::exists(none)) << "looking does not make it";
}

TEST_F(Executable, InterruptedTuningKeepsWhatItHas) {
  const std::string shapes =
      write("shapes.csv", "name,m,n,k\nsmall,8,8,8\nlarge,256,1024,1024\nlarger,512,2048,2048\n");
  // The first problem's line is printed when it is done; everything after it would take minutes.
  const Ran ran = run_gemmsmith({"tune", shapes, "--budget", "10m", "--store", store()}, "small 8x8x8 bf16: ");
  EXPECT_EQ(ran.code, 130) << ran.err;
  EXPECT_NE(ran.err.find("interrupted: finishing what is running; once more to stop at once"), std::string::npos)
      << ran.err;
  EXPECT_NE(ran.out.find("small 8x8x8 bf16"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("not reached."), std::string::npos) << ran.out;
  const Ran kept = run_gemmsmith({"explain", "8x8x8", "dtype=bf16", "b=col", "--store", store()});
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_EQ(kept.err, "");
}

// Processes that were started with an environment that has `mark` in it.
int processes_with(const std::string& mark) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    count += entry.path().filename() != std::to_string(getpid()) && environment.find(mark) != std::string::npos;
  }
  return count;
}

TEST_F(Executable, AKilledTuningLeavesNoProcessAndGoesOn) {
  const std::string mark = "GEMMSMITH_TEST_MARK=" + store();
  setenv("GEMMSMITH_TEST_MARK", store().c_str(), 1);
  // The second progress line comes after five seconds: some waves have been measured by then.
  const Words tune = {"tune", "256x1024x1024", "--budget", "10m", "--store", store(), "--json"};
  const Ran killed = run_gemmsmith(tune, " measured of ", SIGKILL, 2);
  EXPECT_EQ(killed.code, -SIGKILL) << killed.err;
  int left = 1;
  for (int i = 0; i < 5000 && left > 0; ++i) left = processes_with(mark);
  EXPECT_EQ(left, 0) << "the worker ends with the tuner";
  unsetenv("GEMMSMITH_TEST_MARK");
  const Ran again = run_gemmsmith({"tune", "256x1024x1024", "--budget", "1s", "--store", store(), "--json"});
  ASSERT_EQ(again.code, 0) << again.err;
  const Json report = Json::parse(again.out)["problems"][0]["report"];
  EXPECT_GE(report["winner"].get<int>(), 0);
  EXPECT_EQ(report["isolation"], "worker process");
}

TEST_F(Executable, CandidatesRunInAWorkerUnlessAskedOtherwise) {
  const Words tune = {"tune", "8x8x8", "--budget", "500ms", "--store", "none", "--json"};
  const auto report_of = [](const Ran& ran) {
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Json::parse(ran.out)["problems"][0]["report"];
  };
  const Json isolated = report_of(run_gemmsmith(tune));
  EXPECT_EQ(isolated["isolation"], "worker process");
  EXPECT_NE(isolated["memory"].get<std::string>().find(" of the cap of "), std::string::npos);
  EXPECT_TRUE(isolated["load"].contains("others"));
  Words in_process = tune, two = tune, little = tune;
  in_process.push_back("--in-process");
  EXPECT_EQ(report_of(run_gemmsmith(in_process))["isolation"], "in process: asked for");
  two.insert(two.end(), {"--workers", "2"});
  EXPECT_EQ(report_of(run_gemmsmith(two))["isolation"], "2 worker processes");
  little.insert(little.end(), {"--max-memory", "100B"});
  const Ran refused = run_gemmsmith(little);
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(Json::parse(refused.out)["problems"][0]["error"],
            "memory: operands of 768 B are more than the cap of 100 B; raise --max-memory, in a program "
            "TuneOptions::max_memory_bytes");
  EXPECT_EQ(run_gemmsmith({"tune", "8x8x8", "--max-memory", "2 gigs"}).err,
            "error: --max-memory: 2 gigs is not a size; try 512MB, 2GB, 2GiB\n");
}

TEST_F(Executable, QuarantineIsListedAndReleased) {
  ASSERT_EQ(run_gemmsmith({"tune", "8x8x8", "--budget", "500ms", "--store", store()}).code, 0);
  EXPECT_EQ(run_gemmsmith({"store", "quarantine", "--store", store()}).out, "0 candidates in quarantine\n");
  EXPECT_EQ(run_gemmsmith({"store", "quarantine", "8x8x8", "--store", store(), "--json"}).out, "[]\n");
  EXPECT_EQ(run_gemmsmith({"store", "quarantine", "--release", "--store", store()}).out, "0 candidates released\n");
}

TEST_F(Executable, CheckCountsAndFailsWithTheCases) {
  const std::string good = write("good.cases", "# small\nm={1,7} n=8 k=5 dtype=f32\n");
  const Ran ran = run_gemmsmith({"check", good});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find(" passed, "), std::string::npos);
  EXPECT_TRUE(ran.out.ends_with(" 0 failed\n")) << ran.out << ran.err;
  const Ran json = run_gemmsmith({"check", good, "--sources", "native", "--json"});
  EXPECT_EQ(json.code, 0) << json.err;
  const Json report = Json::parse(json.out);
  EXPECT_EQ(report["results"].size(), 2u);
  for (const Json& result : report["results"]) EXPECT_EQ(result["outcome"], "passed") << result;
  const Ran bad = run_gemmsmith({"check", write("bad.cases", "m=1 n=8 k=nine\n")});
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("bad.cases"), std::string::npos) << bad.err;
}

// A second process loads what the first has compiled, whatever command it was for.
TEST_F(Executable, ASecondProcessLoadsInsteadOfCompiling) {
  const std::string cases = write("some.cases", "m={1,7} n=48 k=32 dtype={f32,bf16}\n"), cache = path("kernels");
  const auto counts = [&](Words words) {
    words.insert(words.end(), {"--kernel-cache", cache, "--json"});
    const Ran ran = run_gemmsmith(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Json::parse(ran.out)["kernel_cache"];
  };
  const Json first = counts({"check", cases, "--sources", "native"});
  EXPECT_EQ(first["hits"], 0);
  EXPECT_GE(first["misses"].get<int>(), 2);
  EXPECT_EQ(first["saved"], first["misses"]);
  EXPECT_EQ(first["folders"], Json::array({cache}));
  EXPECT_EQ(first["kernels"], first["saved"]);
  EXPECT_EQ(first["bytes"], first["saved_bytes"]);

  const Json second = counts({"check", cases, "--sources", "native"});
  EXPECT_EQ(second["misses"], 0);
  EXPECT_EQ(second["hits"], first["misses"]);
  EXPECT_GT(second["found_bytes"].get<int>(), 0);
  EXPECT_EQ(counts({"bench", cases, "--sources", "native", "--budget", "1ms"})["misses"], 0);

  // What check compiled, a tuning of the same problem finds; and what that compiles stays for the next.
  const Words tune = {"tune",  "1x48x32", "dtype=f32", "--sources",   "native", "--budget",
                      "500ms", "--store", "none",      "--in-process"};  // what workers load is counted in them
  EXPECT_GE(counts(tune)["hits"].get<int>(), 1);
  const Json doctor = counts({"doctor", "--store", "none"});
  EXPECT_GE(doctor["kernels"].get<int>(), first["kernels"].get<int>());

  const Words emit = {"emit", "7x48x32", "--stage", "object", "-o", path("one.o"), "--kernel-cache", cache};
  const Ran from_cache = run_gemmsmith(emit);
  EXPECT_EQ(from_cache.code, 0) << from_cache.err;
  EXPECT_NE(from_cache.err.find("from the cache"), std::string::npos) << from_cache.err;
  const Ran compiled =
      run_gemmsmith({"emit", "7x48x32", "--stage", "object", "-o", path("two.o"), "--kernel-cache", "none"});
  EXPECT_NE(compiled.err.find("compiled in"), std::string::npos) << compiled.err;
  const auto bytes = [&](const char* name) {
    std::ifstream file(path(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(bytes("one.o"), bytes("two.o"));
}

TEST_F(Executable, ACacheThatCannotBeUsedIsOneWarning) {
  const std::string cases = write("some.cases", "m={1,7} n=48 k=32 dtype=f32\n"), file = write("file", "no folder");
  const Ran ran = run_gemmsmith({"check", cases, "--sources", "native", "--kernel-cache", file + "/kernels"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.err.starts_with("warning: " + file +
                                  "/kernels: cannot be created as a folder (Not a directory)\n"
                                  "  kernels are kept in memory; "))
      << ran.err;
  EXPECT_EQ(ran.err.find("warning", 1), std::string::npos) << ran.err;
  EXPECT_NE(ran.out.find("could not be saved"), std::string::npos) << ran.out;
  const Ran off = run_gemmsmith({"check", cases, "--sources", "native", "--kernel-cache", "none"});
  EXPECT_EQ(off.err.find("warning"), std::string::npos) << off.err;
}

TEST_F(Executable, BenchTimesCandidates) {
  const Ran ran = run_gemmsmith(
      {"bench", write("a.cases", "m=8 n=64 k=64\n"), "--sources", "native", "--budget", "50ms", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json result = Json::parse(ran.out)["results"][0];
  EXPECT_GT(result["timing"]["median_us"].get<double>(), 0);
}

TEST_F(Executable, EmitsEveryStage) {
  const std::pair<const char*, const char*> expected[] = {{"mlir", "func"}, {"llvm", "define"}, {"asm", ".text"}};
  for (const auto& [stage, word] : expected) {
    const Ran ran = run_gemmsmith({"emit", "64x64x64", "--stage", stage});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find(word), std::string::npos) << stage;
    EXPECT_NE(ran.err.find("compiled in "), std::string::npos) << ran.err;
  }
  const Ran object = run_gemmsmith({"emit", "64x64x64", "--stage", "object", "-o", path("kernel.o")});
  EXPECT_EQ(object.code, 0) << object.err;
  EXPECT_EQ(object.out, "");
  std::ifstream file(path("kernel.o"), std::ios::binary);
  std::string magic(4, '\0');
  file.read(magic.data(), 4);
  EXPECT_EQ(magic,
            "\x7f"
            "ELF");
}

TEST_F(Executable, EmitsKernelsForAGpuThatIsNotThere) {
  const std::vector<std::string> problem = {
      "emit",  "512x512x512", "dtype=bf16",
      "b=col", "--config",    "gemm_warp_specialized block_m=64 block_n=64 num_stages=2 num_consumers=1"};
  const auto emitted = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> words = problem;
    words.insert(words.end(), flags.begin(), flags.end());
    return run_gemmsmith(words);
  };
  const Ran ptx = emitted({"--arch", "sm_90a"});
  EXPECT_EQ(ptx.code, 0) << ptx.err;
  EXPECT_NE(ptx.out.find(".target sm_90a"), std::string::npos) << "PTX is the default";
  EXPECT_EQ(emitted({"--device", "sm_90a", "--stage", "ptx"}).out, ptx.out);
  EXPECT_NE(emitted({"--arch", "sm_90a", "--stage", "mlir"}).out.find("hw.wgmma_block"), std::string::npos);
  const Ran unknown = emitted({"--arch", "sm_91"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("to compile only: sm_80, sm_89, sm_90a, sm_100a"), std::string::npos) << unknown.err;
  EXPECT_EQ(emitted({"--arch", "sm_90a", "--device", "cpu"}).code, 2) << "one of the two";
}

TEST_F(Executable, CompilesFoldersAndKeepsThem) {
  const std::string shapes =
      write("shapes.csv", "name,m,n,k,dtype\none,512,512,512,bf16\ntwo,1024,512,512,bf16\nodd,64,64,64,f32\n");
  const std::vector<std::string> words = {"compile", shapes, "--arch", "sm_90a", "--out", path("kernels")};
  const Ran first = run_gemmsmith(words);
  EXPECT_EQ(first.code, 1) << first.err;
  EXPECT_NE(first.out.find("not served: 64x64x64"), std::string::npos) << first.out;
  EXPECT_NE(first.out.find(" compiled ("), std::string::npos) << first.out;
  std::ifstream file(path("kernels/index.json"));
  const Json index = Json::parse(file);
  EXPECT_FALSE(index["kernels"].empty());
  EXPECT_EQ(index["unserved"].size(), 1u);
  const Ran second = run_gemmsmith(words);
  EXPECT_NE(second.out.find("0 kernels compiled, " + std::to_string(index["kernels"].size()) + " kept, in "),
            std::string::npos)
      << second.out;
}

TEST_F(Executable, InterruptedCompilingKeepsWhatItHas) {
  const std::string shapes = write("shapes.csv", "name,m,n,k\nlarge,4096,4096,4096\n");
  const Ran ran = run_gemmsmith(
      {"compile", shapes, "--arch", "sm_90a", "--out", path("kernels"), "--top", "200", "--threads", "1"}, "1 of ");
  EXPECT_EQ(ran.code, 130) << ran.err;
  std::ifstream file(path("kernels/index.json"));
  const Json index = Json::parse(file);
  EXPECT_GE(index["kernels"].size(), 1u);
  EXPECT_LT(index["kernels"].size(), 200u);
}

}  // namespace
}  // namespace gemmsmith

#include "targets/cuda/resources.h"

#include <algorithm>
#include <optional>

#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr int64_t kRegistersOfSm = 65536;  // sm_80 and later

// The number that stands directly before `unit`: "168" in "Used 168 registers, ...".
std::optional<int64_t> number_before(std::string_view line, std::string_view unit) {
  const size_t at = line.find(unit);
  if (at == line.npos) return {};
  const std::string_view before = trim(line.substr(0, at));
  const size_t space = before.find_last_of(" ,");
  return parse_integer(space == before.npos ? before : before.substr(space + 1));
}

void take(std::string_view line, std::string_view unit, auto& field) {
  if (const auto n = number_before(line, unit)) field = static_cast<std::decay_t<decltype(field)>>(*n);
}

// What warnings mean, by a part of their text. The codes of ptxas are not documented; texts are those of ptxas 13.0.
struct Meaning {
  std::string_view part, meaning;
};
constexpr Meaning kMeanings[] = {
    {"'setmaxnreg' ignored to maintain compatibility across compilation units",
     "it was assembled to be linked: roles keep the registers of the launch"},
    {"'setmaxnreg' ignored; unable to determine register count at entry",
     "the kernel lacks .reqntid or .minnctapersm: roles keep the registers of the launch"},
    {"'setmaxnreg' ignored", "roles keep the registers of the launch"},
    {"setmaxnreg.dec has register count", "a role gives up fewer registers than it could"},
    {"serialized due to insufficient register resources",
     "each wgmma waits for the one before: sums do not fit the registers of their role"},
    {"serialized due to non wgmma instructions reading accumulator",
     "each wgmma waits for the one before: sums are read before the wait that covers them"},
    {"serialized due to non wgmma instructions defining",
     "each wgmma waits for the one before: registers of a wgmma in flight are written"},
    {"serialized due to ill formed pipeline stage",
     "each wgmma waits for the one before: fence, wgmma and commit are not in one straight line"},
    {"serialized due to the presence of Extern calls", "each wgmma waits for the one before: a function is called"},
    {"serialized", "each wgmma waits for the one before"},
    {"warpgroup.arrive is injected", "a fence was missing between writes of registers and a wgmma that uses them"},
    {"warpgroup.wait is injected", "sums are used without a wait: the assembler has put one where it saw fit"},
};

std::string meaning_of(std::string_view text) {
  for (const Meaning& m : kMeanings)
    if (text.find(m.part) != text.npos) return std::string(m.meaning);
  return {};
}

// "ptxas info    : (C7519) warpgroup.arrive is injected in around line 212 by compiler ..."
std::optional<KernelResources::Warning> warning_in(std::string_view line, std::string_view ptx) {
  const size_t open = line.find("(C");
  const size_t close = line.find(')', open == line.npos ? 0 : open);
  if (open == line.npos || close == line.npos) return {};
  KernelResources::Warning warning;
  warning.code = line.substr(open + 1, close - open - 1);
  if (!parse_integer(std::string_view(warning.code).substr(1))) return {};
  warning.text = trim(line.substr(close + 1));
  warning.meaning = meaning_of(warning.text);
  constexpr std::string_view kLine = "around line ";
  if (const size_t at = warning.text.find(kLine); at != warning.text.npos) {
    const std::string_view rest = std::string_view(warning.text).substr(at + kLine.size());
    if (const auto n = parse_integer(rest.substr(0, rest.find_first_not_of("0123456789"))))
      warning.where = source_of_ptx_line(ptx, *n);
  }
  return warning;
}

std::string file_name(std::string_view path) {
  const size_t slash = path.find_last_of('/');
  return std::string(slash == path.npos ? path : path.substr(slash + 1));
}

std::string print(const KernelResources::Warning& w) {
  std::string text = w.code + ": " + w.text;
  if (!w.where.empty()) text += " [" + w.where + "]";
  return text;
}

}  // namespace

std::string source_of_ptx_line(std::string_view ptx, int64_t line) {
  std::string_view file, number;
  int64_t at = 0;
  for (const std::string_view text : split(ptx, '\n')) {
    if (++at > line) break;
    const auto words = split_words(text);
    if (words.size() >= 3 && words[0] == ".loc" && words[2] != "0") file = words[1], number = words[2];
  }
  if (file.empty()) return {};
  for (const std::string_view text : split(ptx, '\n')) {  // .file 1 "src/templates/gemv.cpp"
    const auto words = split_words(text);
    if (words.size() >= 3 && words[0] == ".file" && words[1] == file && words[2].size() >= 2)
      return file_name(words.back().substr(words.back().front() == '"', words.back().size() - 2)) + ":" +
             std::string(number);
  }
  return {};
}

KernelResources parse_resources(std::string_view log, std::string_view ptx) {
  KernelResources r;
  for (const std::string_view line : split(log, '\n')) {
    if (auto warning = warning_in(line, ptx)) {
      r.warnings.push_back(std::move(*warning));
      continue;
    }
    take(line, " bytes stack frame", r.stack_bytes);
    take(line, " bytes spill stores", r.spill_store_bytes);
    take(line, " bytes spill loads", r.spill_load_bytes);
    if (line.find("Used ") == line.npos) continue;
    take(line, " registers", r.registers);
    take(line, " barriers", r.barriers);
    take(line, " bytes smem", r.static_shared_bytes);
    take(line, " bytes cmem[0]", r.constant_bytes);
  }
  return r;
}

std::string print_resources(const KernelResources& r, const KernelSignature& signature) {
  std::string text;
  const auto row = [&text](std::string_view name, const std::string& value) {
    text += concat(name, std::string(size_t(std::max<int64_t>(1, 22 - int64_t(name.size()))), ' '), value, '\n');
  };
  const GpuLaunch& gpu = signature.gpu;
  row("assembler", r.assembler);
  row("registers", concat(r.registers, " a thread at the entry, ", r.registers * gpu.threads, " a CTA"));
  row("threads", concat(gpu.threads, " a CTA, ", gpu.cluster, gpu.cluster == 1 ? " CTA" : " CTAs", " a cluster"));
  row("shared memory", concat(gpu.shared_bytes, " bytes dynamic, ", r.static_shared_bytes, " static"));
  row("spills", concat(r.spill_store_bytes, " bytes of stores, ", r.spill_load_bytes, " bytes of loads"));
  row("stack", concat(r.stack_bytes, " bytes"));
  row("named barriers", concat(r.barriers));
  row("tensor maps", concat(signature.tensor_maps.size()));
  row("warnings", r.warnings.empty() ? "none" : concat(r.warnings.size()));
  for (const KernelResources::Warning& w : r.warnings) {
    text += "  " + print(w) + "\n";
    if (!w.meaning.empty()) text += "    " + w.meaning + "\n";
  }
  return text;
}

Status check_resources(const KernelResources& r, const KernelSignature& signature) {
  std::vector<std::string> notes;
  std::string limit;
  const auto rule = [&limit](const std::string& broken) { limit += (limit.empty() ? "" : ", and ") + broken; };
  if (r.spill_store_bytes + r.spill_load_bytes > 0)
    rule(concat("spills registers: ", r.spill_store_bytes, " bytes of stores and ", r.spill_load_bytes, " of loads"));
  else if (r.stack_bytes > 0)
    rule(concat("has ", r.stack_bytes, " bytes of local memory"));
  if (int64_t(r.registers) * signature.gpu.threads > kRegistersOfSm)
    rule(concat("needs ", r.registers, " registers in each of ", signature.gpu.threads, " threads, more than the ",
                kRegistersOfSm, " of an SM"));
  if (!r.warnings.empty()) {
    const std::string& meaning = r.warnings.front().meaning;
    rule("is slowed down by its assembler: " + (meaning.empty() ? r.warnings.front().text : meaning));
  }
  for (const KernelResources::Warning& w : r.warnings) notes.push_back(print(w));
  if (limit.empty()) return Done{};
  return Error{r.assembler, "the kernel", limit, "a smaller tile, or fewer sums for each consumer", std::move(notes)};
}

}  // namespace gemmsmith

// What `check` and `bench` print about case files.
#pragma once
#include <string>
#include <vector>

#include "gemmsmith/cases.h"
#include "output/text.h"

namespace gemmsmith::cli {

// Results of one case file.
struct FileResults {
  std::string file;
  std::vector<CaseResult> results;
};

struct CaseCounts {
  int64_t passed = 0, refused = 0, failed = 0;
};
CaseCounts count(const std::vector<FileResults>&);
std::string summary_line(const CaseCounts&);  // "12 passed, 3 refused, 1 failed"

// "edges.cases:12: native gemm_packed mr=8: element (3, 17): 1.25, reference 1.5\n    7x31x64 dtype=bf16"
std::string failure_text(const std::string& file, const CaseResult&);

// One line a candidate, grouped by problem, with its time over that of the problem's fastest; then the geometric mean
// of each source over the fastest, in problems that all sources have a time for.
std::string bench_table(const std::vector<FileResults>&, const DeviceFacts&, const Style&);

}  // namespace gemmsmith::cli

// store_worker PATH SEED: saves decisions for problems of its own for ever; "saved M N" once one is in the store.
// store_worker PATH read: opens the store as a user without privileges, who looks at all that is in it.
// store_worker PATH try: opens the store and saves one decision, as a user without privileges; prints "ok" or the error.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "gemmsmith/store.h"
#include "tuner/sample_report.h"

namespace gemmsmith {
namespace {

int try_once(const char* path) {
  if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 3;
  auto store = Store::open(path);
  const Status saved = store.ok() ? store->save(sample_report()) : Status(store.error());
  std::printf("%s\n", saved.ok() ? "ok" : saved.error().text().c_str());
  return saved.ok() ? 0 : 1;
}

int read_all(const char* path) {
  if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 3;
  const auto store = Store::open(path);
  const auto listed = store.ok() ? store->list() : Result<std::vector<TuneReport>>(store.error());
  if (!listed.ok()) {
    std::printf("%s\n", listed.error().text().c_str());
    return 1;
  }
  const TuneReport sample = sample_report();
  int64_t found = 0, lines = 0;
  for (const TuneReport& report : *listed)
    found += store->find(report.problem, sample.provenance.device).value().has_value() ? 1 : 0;
  const Status exported = store->export_lines({}, [&](std::string_view) { ++lines; });
  std::printf("%s: %zu listed, %lld found, %lld lines, %s\n", store->read_only() ? "read only" : "writable",
              listed->size(), (long long)(found), (long long)(lines),
              exported.ok() && store->verify().value().empty() ? "sound" : "damaged");
  return 0;
}

int save_for_ever(const char* path, int64_t seed) {
  auto store = Store::open(path, /*wait_seconds=*/300);  // eight of them on a busy machine
  if (!store.ok()) {
    std::printf("error %s\n", store.error().text().c_str());
    return 1;
  }
  TuneReport report = sample_report();
  for (int64_t n = 1;; ++n) {
    report.problem = make_problem(seed + 1, n, 8, DataType::f32);
    if (const Status saved = store->save(report); saved.ok())
      std::printf("saved %lld %lld\n", (long long)(seed + 1), (long long)(n));
    else
      std::printf("error %s\n", saved.error().text().c_str());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace gemmsmith

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (std::string(argv[2]) == "try") return gemmsmith::try_once(argv[1]);
  if (std::string(argv[2]) == "read") return gemmsmith::read_all(argv[1]);
  return gemmsmith::save_for_ever(argv[1], std::atoll(argv[2]));
}

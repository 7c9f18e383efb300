// cache_worker FOLDER SEED MAX_BYTES: finds and saves kernels at random for ever. "saved N" once a kernel is in a file,
// "wrong N" if one was found that is not what was saved.
#include <cstdio>
#include <cstdlib>

#include "cache/kernels.h"
#include "compiler/cache.h"
#include "support/random.h"

int main(int argc, char** argv) {
  using namespace gemmsmith;
  if (argc != 4) return 2;
  KernelCache cache({.folders = {argv[1]}, .max_bytes = std::atoll(argv[3])});
  Random random(uint64_t(std::atoll(argv[2])));
  for (;;) {
    const int number = int(random.below(40));
    const auto found = cache.find(key_of(number));
    if (found && !same(*found, kernel_of(number))) std::printf("wrong %d\n", number);
    const CacheCounts before = cache.counts();
    if (!found || random.below(2) == 0) cache.save(key_of(number), kernel_of(number));
    if (cache.counts().saved > before.saved) std::printf("saved %d\n", number);
    if (cache.counts().damaged > 0) std::printf("damaged\n");
    std::fflush(stdout);
  }
}

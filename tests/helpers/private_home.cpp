// A home that is empty at first and gone afterwards: for this process and for those that it starts.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace {

const struct PrivateHome {
  PrivateHome() : owner(getpid()) {
    std::error_code ignored;
    std::string made = (std::filesystem::temp_directory_path(ignored) / "gemmsmith_home_XXXXXX").string();
    if (mkdtemp(made.data()) == nullptr) std::abort();
    folder = made;
    setenv("HOME", made.c_str(), 1);
    for (const char* name : {"XDG_CACHE_HOME", "GEMMSMITH_CACHE", "GEMMSMITH_STORE"}) unsetenv(name);
  }
  ~PrivateHome() {
    std::error_code ignored;
    if (owner == getpid()) std::filesystem::remove_all(folder, ignored);
  }
  pid_t owner;  // a forked child leaves it to its parent
  std::filesystem::path folder;
} private_home;

}  // namespace

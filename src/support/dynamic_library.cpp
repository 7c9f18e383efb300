#include "support/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include <utility>

#include "support/text.h"

namespace gemmsmith {
namespace {
std::string last_loader_error() {
  const char* text = ::dlerror();
  return text ? text : "the loader gives no reason";
}
}  // namespace

Result<DynamicLibrary> DynamicLibrary::open(std::span<const std::string> names) {
  GS_ASSERT(!names.empty(), "a library needs at least one name to try");
  std::vector<std::string> failures;
  for (const std::string& name : names) {
    if (void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return DynamicLibrary(handle, name);
    failures.push_back(concat("tried ", name, ": ", last_loader_error()));
  }
  return Error{names.front(), "cannot be opened", {}, {}, std::move(failures)};
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), name_(std::move(other.name_)), keep_open_(other.keep_open_) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  if (this != &other) {
    close();
    handle_ = std::exchange(other.handle_, nullptr);
    name_ = std::move(other.name_);
    keep_open_ = other.keep_open_;
  }
  return *this;
}

DynamicLibrary::~DynamicLibrary() { close(); }

void DynamicLibrary::close() {
  if (handle_ && !keep_open_) ::dlclose(handle_);
  handle_ = nullptr;
}

std::string DynamicLibrary::path() const {
  link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name) return map->l_name;
  return name_;
}

Result<void*> DynamicLibrary::find(const char* symbol) const {
  ::dlerror();
  if (void* address = ::dlsym(handle_, symbol)) return address;
  return Error{path(), concat("has no symbol ", symbol), concat("(", last_loader_error(), ")"), {}, {}};
}

}  // namespace gemmsmith

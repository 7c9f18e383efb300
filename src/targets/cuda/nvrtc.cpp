#include "targets/cuda/nvrtc.h"

#include "support/text.h"

namespace gemmsmith {

Result<Nvrtc> Nvrtc::open(const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const std::string& folder : folders)
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      names.push_back(folder.empty() ? name : folder + "/" + name);
  if (names.empty()) return Error{"libnvrtc.so", "the library", "is looked for in no folder", {}, {}};
  GS_TRY(DynamicLibrary library, DynamicLibrary::open(names));
  library.keep_open();  // it starts threads of its own
  Nvrtc nvrtc(std::move(library));
  GS_CHECK(nvrtc.bind());
  return nvrtc;
}

Status Nvrtc::bind() {
  const auto take = [this](const char* symbol, auto& function) -> Status {
    GS_TRY(function, library_.function<std::remove_pointer_t<std::decay_t<decltype(function)>>>(symbol));
    return Done{};
  };
  GS_CHECK(take("nvrtcVersion", call_.version));
  GS_CHECK(take("nvrtcCreateProgram", call_.create));
  GS_CHECK(take("nvrtcCompileProgram", call_.compile));
  GS_CHECK(take("nvrtcGetProgramLogSize", call_.log_size));
  GS_CHECK(take("nvrtcGetProgramLog", call_.log));
  GS_CHECK(take("nvrtcGetCUBINSize", call_.cubin_size));
  GS_CHECK(take("nvrtcGetCUBIN", call_.cubin));
  GS_CHECK(take("nvrtcDestroyProgram", call_.destroy));
  int major = 0, minor = 0;
  if (const int code = call_.version(&major, &minor); code != 0)
    return Error{library_.path(), "nvrtcVersion", concat("fails with code ", code), {}, {}};
  version_ = concat(major, ".", minor);
  return Done{};
}

Result<NvrtcOutput> Nvrtc::compile(const std::string& program, const std::vector<std::string>& options) const {
  Program handle = nullptr;
  if (const int code = call_.create(&handle, program.c_str(), "kernel.cu", 0, nullptr, nullptr); code != 0)
    return Error{library_.path(), "nvrtcCreateProgram", concat("fails with code ", code), {}, {}};
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  const int compiled = call_.compile(handle, int(words.size()), words.data());

  NvrtcOutput output;
  const auto text = [handle](auto size_of, auto get, std::string& into) {
    size_t bytes = 0;
    if (size_of(handle, &bytes) != 0 || bytes == 0) return;
    into.resize(bytes);
    if (get(handle, into.data()) != 0) into.clear();
  };
  text(call_.log_size, call_.log, output.log);
  while (!output.log.empty() && output.log.back() == '\0') output.log.pop_back();
  if (compiled == 0) text(call_.cubin_size, call_.cubin, output.cubin);
  call_.destroy(&handle);
  if (compiled == 0 && output.cubin.empty()) return Error{library_.path(), "nvrtcGetCUBIN", "gives nothing", {}, {}};
  if (compiled != 0 && output.log.empty()) output.log = concat("code ", compiled);
  return output;
}

}  // namespace gemmsmith

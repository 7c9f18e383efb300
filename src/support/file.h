// Whole files. Errors name the path and what the system said.
#pragma once
#include <string>
#include <string_view>

#include "gemmsmith/result.h"

namespace gemmsmith {

Result<std::string> read_file(const std::string& path);
bool file_exists(const std::string& path);
// Writes a temporary file beside `path`, syncs it and renames it: readers see the old or the new content, never a part,
// and a crash leaves the old. Symbolic links are replaced, not followed.
Status write_file_atomic(const std::string& path, std::string_view content);
Status make_directories(const std::string& path);  // with all parents; fine if it is there
std::string parent_of(const std::string& path);    // "." for a plain name

}  // namespace gemmsmith

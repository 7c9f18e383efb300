// The configuration of a template: a plain struct whose fields have names, so that one word serves code, command line and store.
//
//   struct StreamingConfig {
//     int nr = 32, unroll = 8;
//     template <class F> void fields(F&& f) { f("nr", nr), f("unroll", unroll); }
//   };
//   print_config(c)  ->  "nr=32 unroll=8"        read_config<StreamingConfig>("nr=32 unroll=8")
#pragma once
#include <charconv>
#include <string>
#include <string_view>

#include "gemmsmith/result.h"

namespace gemmsmith {

template <class Config>
std::string print_config(Config config) {
  std::string text;
  config.fields([&](const char* name, int value) {
    text += (text.empty() ? "" : " ") + std::string(name) + "=" + std::to_string(value);
  });
  return text;
}

// Fields that the text does not name keep their defaults. An unknown name or a value that is no number is an error with the names.
template <class Config>
Result<Config> read_config(std::string_view text) {
  Config config;
  while (true) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    if (text.empty()) return config;
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const size_t sign = word.find('=');
    const std::string_view name = word.substr(0, sign);
    bool known = false, number = false;
    std::string names;
    config.fields([&](const char* field, int& value) {
      names += (names.empty() ? "" : ", ") + std::string(field);
      if (name != field) return;
      known = true;
      if (sign == word.npos) return;
      const std::string_view digits = word.substr(sign + 1);
      const auto end = digits.data() + digits.size();
      const auto [stop, code] = std::from_chars(digits.data(), end, value);
      number = code == std::errc() && stop == end;
    });
    if (!known)
      return Error{
          "--config", "\"" + std::string(name) + "\"", "is not a field of this template", "its fields: " + names, {}};
    if (!number)
      return Error{
          "--config", "\"" + std::string(word) + "\"", "is not name=integer", "e.g. " + print_config(Config{}), {}};
  }
}

}  // namespace gemmsmith

// What is fuzzed: each target takes any bytes, and stops the program where a law does not hold. libFuzzer runs one target
// in a program of its own (fuzzer.cpp); the tests run all of them over the seeds of corpus/ (seeds_test.cpp).
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "gemmsmith/result.h"

namespace gemmsmith::fuzz {

struct Target {
  std::string_view name;  // of the program, fuzz_<name>, and of its folder in corpus/
  void (*run)(std::string_view bytes);
};
std::span<const Target> targets();

// Laws that hold for all inputs.
void require(bool law, std::string_view sentence, std::string_view about = {});
// An error says what is wrong in printable text of a length that people read.
void require_readable(const Error&);

void problem(std::string_view);        // the text form of problems
void expression(std::string_view);     // epilogues
void layout(std::string_view);         // a layout in the first line, an operation with its argument in each further one
void model(std::string_view);          // a model's config.json
void csv(std::string_view);            // lists of shapes
void store_lines(std::string_view);    // what `store import` reads
void cases(std::string_view);          // case files
void kernel_file(std::string_view);    // files of the binary cache
void config(std::string_view);         // configurations of templates
void command_words(std::string_view);  // words of the command line, one a line

}  // namespace gemmsmith::fuzz

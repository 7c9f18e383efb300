// What tuner and worker say to each other: the texts of the frames. Nothing in it is particular to a kind of device.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/device.h"
#include "gemmsmith/tune.h"
#include "sources/source.h"

namespace gemmsmith {

constexpr int kProtocolVersion = 1;

// open
struct OpenRequest {
  std::string device;                // "cpu"
  int threads = 0;                   // as DeviceOptions
  std::string kernel_cache;          // likewise; empty: the default
  std::vector<std::string> without;  // sources that are not to be opened
};
struct Opened {
  int protocol = kProtocolVersion;
  std::string gemmsmith;              // version
  std::string device;                 // fingerprint of what it opened
  std::vector<SourceReport> sources;  // names and versions
};

// plan and begin. The measured peaks are the tuner's, so that all workers rank alike.
struct ProblemRequest {
  std::string problem;
  double peak_f32_gflops = 0, peak_bf16_gflops = 0, peak_i8_gops = 0, read_gbytes_per_s = 0;
};
struct SourceOffer {
  std::string source;
  Supports supports;
  CandidateSet candidates;  // of a source that does
};

// operands: where each lies in the shared memory, and how much more this worker may use.
struct SharedRegion {
  std::string name;
  int64_t offset = 0, bytes = 0;  // of whole pages
  int64_t data = 0, size = 0;     // of the operand within the shared memory
  bool writable = false;
};
constexpr int64_t kSharedGuardBytes = int64_t(1) << 20;  // before each and after the last: a worker may not touch them
struct OperandsRequest {
  int64_t bytes = 0;  // of the shared memory
  std::vector<SharedRegion> regions;
  std::vector<int64_t> origins;  // of a, b, c, d and the inputs, within the shared memory
  int64_t copies = 1;            // of the rotation
  bool shared_rotation = false;  // the shared operands are the rotation
  int64_t memory_bytes = 0;      // that the worker may take from now on
};

struct BuildRequest {
  uint64_t kernel = 0;  // its number from now on
  std::string source, config;
};
struct KernelRequest {
  uint64_t kernel = 0;
  int repeats = 1;  // of a sample
};

std::string print(const OpenRequest&);
std::string print(const Opened&);
std::string print(const ProblemRequest&);
std::string print(const std::vector<SourceOffer>&);
std::string print(const OperandsRequest&);
std::string print(const BuildRequest&);
std::string print(const KernelRequest&);
std::string print_number(const char* key, double value);  // {"us":12.5}
std::string print_error(const Error&);

// The inverses. Errors: what is missing or of another kind.
Result<OpenRequest> parse_open(std::string_view);
Result<Opened> parse_opened(std::string_view);
Result<ProblemRequest> parse_problem_request(std::string_view);
Result<std::vector<SourceOffer>> parse_offers(std::string_view);
Result<OperandsRequest> parse_operands(std::string_view);
Result<BuildRequest> parse_build(std::string_view);
Result<KernelRequest> parse_kernel_request(std::string_view);
Result<double> parse_number_of(std::string_view, const char* key);
Error parse_error(std::string_view);  // a text that is none is the error then

}  // namespace gemmsmith

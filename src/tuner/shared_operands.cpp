#include "tuner/shared_operands.h"

#include <utility>

#include "problem/spec.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr int64_t kPage = 4096, kAlignment = 64;
constexpr size_t kD = 3;  // its place among the operands

int64_t round_up(int64_t size, int64_t unit) { return (size + unit - 1) / unit * unit; }

// The bytes of an operand, at least one alignment of a band before it, in whole pages, with a guard before them.
int64_t room_for(int64_t bytes) {
  return kSharedGuardBytes + round_up(round_up(bytes, kAlignment) + kAlignment, kPage);
}

}  // namespace

Result<SharedOperands> SharedOperands::create(const GemmProblem& problem) {
  // Each operand by itself takes at most its bytes and what room_for() adds to none.
  const int64_t operands = 4 + int64_t(problem.inputs.size());
  const int64_t bytes = operand_bytes(problem) + operands * (room_for(0) + kPage) + kSharedGuardBytes;
  SharedOperands shared;
  shared.operands_ = size_t(operands);
  GS_TRY(shared.memory_, SharedMemory::create(round_up(bytes, kPage)));
  return shared;
}

Operands::Place SharedOperands::places() {
  regions_.clear();
  return [this](const std::string& name, int64_t bytes) -> Result<AlignedBuffer> {
    if (regions_.size() == operands_) regions_.clear();  // a renewed gate begins again with A
    const int64_t begin = regions_.empty() ? 0 : regions_.back().offset + regions_.back().bytes;
    SharedRegion region{name,  begin + kSharedGuardBytes, room_for(bytes) - kSharedGuardBytes, 0,
                        bytes, regions_.size() == kD};
    const int64_t end = region.offset + region.bytes;
    if (end + kSharedGuardBytes > memory_.size_bytes())
      return Error{"memory", "the operand " + name, "does not fit into the shared memory", {}, {}};
    region.data = end - round_up(bytes, kAlignment);
    regions_.push_back(region);
    return AlignedBuffer::within(memory_.data() + region.data, bytes, region.data - region.offset,
                                 end - region.data - bytes);
  };
}

OperandsRequest SharedOperands::request(const GemmArguments& arguments) const {
  OperandsRequest request;
  request.bytes = memory_.size_bytes();
  request.regions = regions_;
  const auto add = [&](const void* pointer) {
    request.origins.push_back(static_cast<const char*>(pointer) - memory_.data());
  };
  for (const void* pointer : {arguments.a, arguments.b, arguments.c, static_cast<const void*>(arguments.d)})
    add(pointer);
  for (const void* input : arguments.inputs) add(input);
  return request;
}

Result<MappedOperands> MappedOperands::map(const OperandsRequest& request, FileDescriptor file) {
  MappedOperands mapped;
  GS_TRY(mapped.memory, SharedMemory::from(std::move(file), request.bytes));
  for (const SharedRegion& region : request.regions)
    GS_CHECK(mapped.memory.allow(region.offset, region.bytes, region.writable));
  if (request.origins.size() < 4)
    return Error{"worker, operands", concat(request.origins.size(), " origins"), "are fewer than 4", {}, {}};
  char* base = mapped.memory.data();
  mapped.arguments = {
      base + request.origins[0], base + request.origins[1], base + request.origins[2], base + request.origins[3], {}};
  for (size_t i = 4; i < request.origins.size(); ++i) mapped.arguments.inputs.push_back(base + request.origins[i]);
  return mapped;
}

}  // namespace gemmsmith

#include "problem/operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "problem/spec.h"
#include "support/half.h"
#include "support/random.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr int64_t kTableElements = 1 << 16, kRunElements = 1024;

int poison_byte(DataType type) { return is_float(type) ? 0xff : 0xa5; }

double random_value(DataType type, Random& random) {
  switch (type) {
    case DataType::i8:
      return double(random.between(-128, 127));
    case DataType::i32:
      return double(random.between(-1000, 1000));
    default:
      return random.normal();
  }
}

// Fills dense memory.
void fill_dense(DataType type, char* memory, int64_t elements, Random& random) {
  const int64_t direct = std::min(elements, kTableElements);
  for (int64_t i = 0; i < direct; ++i) store_element(type, memory, i, random_value(type, random));
  // The values so far are the table for the rest; a run starts anywhere in it, so that no period shows.
  const int64_t bytes = bytes_of(type);
  for (int64_t i = direct; i < elements; i += kRunElements) {
    const int64_t from = int64_t(random.below(uint64_t(kTableElements - kRunElements)));
    std::memcpy(memory + i * bytes, memory + from * bytes, size_t(std::min(kRunElements, elements - i) * bytes));
  }
}

// Whether a matrix has elements at every place of its span: then there are no gaps.
bool is_dense(const MatrixOperand& o, int64_t batch) {
  double elements = double(o.rows) * double(o.columns);  // of what is not repeated
  if (o.spec->batch_stride != 0) elements *= double(batch);
  return double(span_of(o, batch).elements()) == elements && o.spec->row_stride != 0 && o.spec->column_stride != 0;
}

template <class Visit>
void for_each_offset(const MatrixOperand& o, int64_t batch, Visit visit) {
  const int64_t members = o.spec->batch_stride == 0 ? std::min<int64_t>(batch, 1) : batch;
  for (int64_t t = 0; t < members; ++t)
    for (int64_t i = 0; i < o.rows; ++i)
      for (int64_t j = 0; j < o.columns; ++j)
        visit(t * o.spec->batch_stride + i * o.spec->row_stride + j * o.spec->column_stride);
}

int64_t span_elements(const MatrixOperand& o, int64_t batch) {
  const ElementSpan span = span_of(o, batch);
  return span.empty() ? 0 : span.elements();
}

}  // namespace

int64_t operand_bytes(const GemmProblem& p) {
  int64_t total = 0;
  const auto add = [&total](int64_t elements, DataType type) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(elements, int64_t(bytes_of(type)), &bytes) ||
        __builtin_add_overflow(total, bytes, &total))
      total = std::numeric_limits<int64_t>::max();
  };
  for (const MatrixOperand& o : {operand_a(p), operand_b(p), operand_d(p)})
    add(span_elements(o, p.batch), o.spec->type);
  if (p.reads_c()) add(span_elements(operand_c(p), p.batch), p.c.type);
  for (const InputSpec& input : p.inputs) add(elements_of(input, p), input.type);
  return total;
}

Result<const char*> Operands::add(std::string name, int64_t elements, DataType type, const Place& place) {
  auto memory = place(name, elements * bytes_of(type));
  if (!memory.ok()) return std::move(memory).error().note(concat("for operand ", name));
  buffers_.push_back({std::move(name), std::move(memory).value()});
  bytes_ += buffers_.back().memory.size_bytes();
  return static_cast<const char*>(buffers_.back().memory.data());
}

Result<Operands> Operands::create(const GemmProblem& p, uint64_t seed, const OperandOptions& options) {
  return create(p, seed, [&](const std::string&, int64_t bytes) {
    return AlignedBuffer::allocate(bytes, {options.alignment_bytes, options.guard_bytes});
  });
}

Result<Operands> Operands::create(const GemmProblem& p, uint64_t seed, const Place& place) {
  GS_CHECK(p.validate());
  Operands operands(p);
  const void** pointers[] = {&operands.arguments_.a, &operands.arguments_.b, &operands.arguments_.c};
  const MatrixOperand matrices[] = {operand_a(p), operand_b(p), operand_c(p), operand_d(p)};
  for (int i = 0; i < 4; ++i) {
    const MatrixOperand& o = matrices[i];
    const bool unused =
        o.name == 'c' && !p.reads_c();  // C keeps a buffer of nothing: a kernel that reads it reads a guard band
    const int64_t elements = unused ? 0 : span_elements(o, p.batch);
    GS_TRY(const char* memory, operands.add(std::string(1, o.name), elements, o.spec->type, place));
    // Element (0,0) lies where the negative strides leave off.
    const int64_t origin = elements > 0 ? -span_of(o, p.batch).low * bytes_of(o.spec->type) : 0;
    if (i < 3)
      *pointers[i] = memory + origin;
    else
      operands.arguments_.d = const_cast<char*>(memory) + origin;
  }
  for (const InputSpec& input : p.inputs) {
    GS_TRY(const char* memory, operands.add(input.name, elements_of(input, p), input.type, place));
    operands.arguments_.inputs.push_back(memory);
  }
  operands.fill(seed);
  operands.poison_output();
  return operands;
}

void Operands::fill(uint64_t seed) {
  Random random(seed);
  const MatrixOperand matrices[] = {operand_a(problem_), operand_b(problem_), operand_c(problem_)};
  for (size_t i = 0; i < 3; ++i) {
    const MatrixOperand& o = matrices[i];
    char* memory = buffers_[i].memory.data();
    const DataType type = o.spec->type;
    const int64_t elements = buffers_[i].memory.size_bytes() / bytes_of(type);
    if (elements == 0) continue;
    if (is_dense(o, problem_.batch) || !is_float(type)) {
      fill_dense(type, memory, elements, random);
      continue;
    }
    std::memset(memory, poison_byte(type), size_t(elements * bytes_of(type)));
    const int64_t low = span_of(o, problem_.batch).low;
    for_each_offset(o, problem_.batch,
                    [&](int64_t offset) { store_element(type, memory, offset - low, random_value(type, random)); });
  }
  for (size_t i = 0; i < problem_.inputs.size(); ++i) {
    const Buffer& buffer = buffers_[4 + i];
    const DataType type = problem_.inputs[i].type;
    fill_dense(type, buffer.memory.data(), buffer.memory.size_bytes() / bytes_of(type), random);
  }
}

void Operands::poison_output() {
  const AlignedBuffer& d = buffers_[3].memory;
  std::memset(d.data(), poison_byte(problem_.d.type), size_t(d.size_bytes()));
}

std::optional<int64_t> Operands::damaged_gap() const {
  const MatrixOperand o = operand_d(problem_);
  const AlignedBuffer& d = buffers_[3].memory;
  if (d.size_bytes() == 0 || is_dense(o, problem_.batch)) return std::nullopt;
  const int64_t bytes = bytes_of(problem_.d.type), low = span_of(o, problem_.batch).low;
  std::vector<bool> written(size_t(d.size_bytes() / bytes));
  for_each_offset(o, problem_.batch, [&](int64_t offset) { written[size_t(offset - low)] = true; });
  const char poison = char(poison_byte(problem_.d.type));
  for (int64_t i = 0; i < d.size_bytes(); ++i)
    if (!written[size_t(i / bytes)] && d.data()[i] != poison) return i / bytes;
  return std::nullopt;
}

std::optional<std::string> Operands::damage() const {
  for (const Buffer& buffer : buffers_)
    if (const auto at = buffer.memory.overwritten_guard()) {
      const int64_t size = buffer.memory.size_bytes();
      return *at < 0 ? concat("guard band before ", buffer.name, " overwritten, ", -*at, " bytes before its start")
                     : concat("guard band after ", buffer.name, " overwritten, at byte ", *at - size, " past its end");
    }
  if (const auto gap = damaged_gap())
    return concat("gap between elements of d overwritten, at element ", *gap, " of its memory");
  return std::nullopt;
}

}  // namespace gemmsmith

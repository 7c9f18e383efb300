#include "tuner/gate.h"

#include <utility>

namespace gemmsmith {

void Gate::clear() {
  expected_.reset();  // it points into the operands
  operands_.reset();
}

Status Gate::prepare(const GemmProblem& problem, uint64_t seed, const CheckOptions& options, Operands::Place place) {
  clear();
  problem_ = problem;
  options_ = options;
  place_ = std::move(place);
  seed_ = seed;
  return renew();
}

Status Gate::renew() {
  clear();
  damaged_ = false;
  if (place_) {
    GS_TRY(operands_, Operands::create(problem_, seed_, place_));
  } else {
    GS_TRY(operands_, Operands::create(problem_, seed_));
  }
  return Done{};
}

void Gate::make_ready(uint64_t seed) {
  GS_ASSERT(operands_, "prepare() comes first");
  if (seed != seed_) {
    expected_.reset();
    operands_->fill(seed);
    seed_ = seed;
  }
  options_.seed = seed;
  if (!expected_) expected_.emplace(problem_, operands_->arguments(), options_);
  operands_->poison_output();
}

Accuracy Gate::judge() {
  Accuracy accuracy = expected_->compare(operands_->arguments().d);
  std::optional<std::string> damage = operands_->damage();
  damaged_ = damage.has_value();
  if (damaged_) {
    accuracy.passed = false;
    accuracy.failure = *std::move(damage);
  }
  return accuracy;
}

}  // namespace gemmsmith

// The kernels that a source keeps loaded: one for each key, the most recently used of them.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "compiler/target.h"

namespace gemmsmith {

// May be used by several threads at once. Kernels are shared: one that goes from here lives on where it is held.
class LoadedKernels {
 public:
  explicit LoadedKernels(size_t most) : most_(most) {}

  // Null if there is none.
  std::shared_ptr<LoadedKernel> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->kernel;
  }

  // The one that is kept for this key from now on: the one that is there already, if another thread was faster.
  std::shared_ptr<LoadedKernel> keep(const std::string& key, std::shared_ptr<LoadedKernel> kernel) {
    std::shared_ptr<LoadedKernel> evicted;  // destroyed after the lock: that frees its code
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) return found->second->kernel;
    if (most_ == 0) return kernel;
    order_.push_front({key, kernel});
    index_.emplace(key, order_.begin());
    if (order_.size() > most_) {
      evicted = std::move(order_.back().kernel);
      index_.erase(order_.back().key);
      order_.pop_back();
    }
    return kernel;
  }

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return order_.size();
  }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<LoadedKernel> kernel;
  };
  const size_t most_;
  mutable std::mutex mutex_;
  std::list<Entry> order_;  // the most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

}  // namespace gemmsmith

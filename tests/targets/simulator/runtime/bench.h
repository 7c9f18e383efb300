// Kernels of the simulator's tests: C++ functions that call the entries as lowered kernels do.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "targets/simulator/runtime/entries.h"
#include "targets/simulator/runtime/launch.h"

namespace gemmsmith::simulator {

inline constexpr int kCta = int(MemoryScope::cta), kInCluster = int(MemoryScope::cluster), kGpu = int(MemoryScope::gpu);
inline constexpr int kRelaxed = int(MemoryOrder::relaxed), kAcquire = int(MemoryOrder::acquire),
                     kRelease = int(MemoryOrder::release), kAcqRel = int(MemoryOrder::acq_rel);

// One launch with its tables. Sites are in file "k.cpp".
class Bench {
 public:
  Launch launch;
  LaunchOptions options;
  std::vector<WgmmaBlock> blocks;

  int site(std::string label, int line) {
    sites_.push_back({std::move(label), "k.cpp", line});
    return int(sites_.size()) - 1;
  }
  // Shared memory with a name; gives its offset.
  uint32_t region(std::string name, uint32_t bytes, uint32_t alignment = 8) {
    const uint32_t offset = (launch.shared_bytes + alignment - 1) / alignment * alignment;
    regions_.push_back({offset, bytes, std::move(name)});
    launch.shared_bytes = offset + bytes;
    return offset;
  }
  template <class T>
  void buffer(std::string name, std::vector<T>& data, bool writable = true) {
    buffers_.push_back({std::move(name), data.data(), int64_t(data.size() * sizeof(T)), writable});
  }
  Launch complete(const std::function<void()>& kernel) {
    Launch l = launch;
    l.kernel = [](void* const* parameters) { (*static_cast<const std::function<void()>*>(parameters[0]))(); };
    l.parameters = {const_cast<std::function<void()>*>(&kernel)};
    l.sites = sites_;
    l.regions = regions_;
    l.buffers = buffers_;
    l.wgmma_blocks = blocks;
    return l;
  }
  LaunchResult run(const std::function<void()>& kernel) {
    auto result = simulator().run(complete(kernel), options);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
    return result.ok() ? *result : LaunchResult{};
  }
  // The text of all findings with race detection, of the late schedule. Others may find the same in another order.
  std::string findings(const std::function<void()>& kernel) {
    options.detect_races = true;
    options.schedule = Schedule::late;
    return run(kernel).text();
  }
  // Whether any schedule finds something: their texts, with race detection and without.
  std::string complaints(const std::function<void()>& kernel) {
    std::string all;
    for (const bool races : {false, true})
      for (const int seed : {-2, -1, 0, 1, 2, 3}) {
        options.detect_races = races;
        options.schedule = seed == -2 ? Schedule::late : seed == -1 ? Schedule::eager : Schedule::random;
        options.seed = uint64_t(seed);
        all += run(kernel).text();
      }
    return all;
  }
  // In how many of 12 schedules race detection finds something.
  int found_in(const std::function<void()>& kernel) {
    int count = 0;
    options.detect_races = true;
    for (int seed = -2; seed < 10; ++seed) {
      options.schedule = seed == -2 ? Schedule::late : seed == -1 ? Schedule::eager : Schedule::random;
      options.seed = uint64_t(seed);
      count += !run(kernel).ok();
    }
    return count;
  }
  static Simulator& simulator() {
    static Simulator simulator;
    return simulator;
  }

 private:
  std::vector<Site> sites_;
  std::vector<NamedRegion> regions_;
  std::vector<GlobalBuffer> buffers_;
};

inline int tid() { return sim_special_register(0, int(SpecialRegister::tid_x)); }
inline int cta_rank() { return sim_special_register(0, int(SpecialRegister::cluster_ctarank)); }
inline int ctaid() { return sim_special_register(0, int(SpecialRegister::ctaid_x)); }
inline char* shared(uint32_t offset) { return static_cast<char*>(sim_shared(0, int(offset))); }
template <class T>
T load(int site, const void* address) {
  sim_load(site, address, int(sizeof(T)));
  return *static_cast<const T*>(address);
}
template <class T>
void store(int site, void* address, T value) {
  sim_store(site, address, int(sizeof(T)));
  *static_cast<T*>(address) = value;
}

inline TensorMap tensor_map(const TensorMapFields& fields) {
  auto map = TensorMap::encode(fields);
  EXPECT_TRUE(map.ok()) << (map.ok() ? "" : map.error().text());
  return map.ok() ? *map : TensorMap{};
}

// The descriptor of wgmma for a K-major tile with a swizzle of `swizzle` bytes (0: none) at a shared address.
inline uint64_t descriptor(const void* address, int swizzle, uint32_t leading_bytes, uint32_t stride_bytes) {
  const uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return (uint64_t(reinterpret_cast<uintptr_t>(address)) >> 4 & 0x3fff) | uint64_t(leading_bytes >> 4) << 16 |
         uint64_t(stride_bytes >> 4) << 32 | mode << 62;
}

}  // namespace gemmsmith::simulator

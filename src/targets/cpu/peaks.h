// What this CPU reaches at best: the denominators of "fraction of peak" and of the floors in reports.
#pragma once
#include <cstdint>

#include "gemmsmith/device.h"

namespace gemmsmith {

struct Peaks {
  double f32_gflops = 0;         // fused multiply-add at facts.vector_bytes, 2 operations a lane
  double bf16_gflops = 0;        // vdpbf16ps; 0 without it
  double i8_gops = 0;            // vpdpbusd, EVEX or VEX; 0 without it
  double read_gbytes_per_s = 0;  // of all threads reading memory once, more than the caches hold
};

// Runs on `facts.threads` threads at once, at most 0.3 s in all on an idle machine. Best of several short runs:
// neighbours and frequency ramps only ever make a run slower.
Peaks measure_peaks(const DeviceFacts& facts);

}  // namespace gemmsmith

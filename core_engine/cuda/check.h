// What the parts of msdbg_cuda_check share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core_engine/device/device.h"

namespace msdbg::core::device::check {

using Floats = std::vector<float>;

class Report {
 public:
  void line(bool passed, const std::string& what, const std::string& detail = "") {
    std::printf("%s  %s%s%s\n", passed ? "ok    " : "FAILED", what.c_str(), detail.empty() ? "" : ": ",
                detail.c_str());
    std::fflush(stdout);
    ++(passed ? m_passed : m_failed);
  }
  int finish() const {
    std::printf("%d passed, %d failed\n", m_passed, m_failed);
    return m_failed > 0 ? 1 : 0;
  }

 private:
  int m_passed = 0, m_failed = 0;
};

/// Floats on the device, for as long as it lives.
class OnDevice {
 public:
  OnDevice(Device& device, const Floats& values) : m_device(device), m_count(values.size()) {
    m_memory = device.allocate(values.size() * sizeof(float));
    device.copyIn(m_memory, values.data(), values.size() * sizeof(float));
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { m_device.release(m_memory); }

  void* get() const { return m_memory; }
  /// Waits; `failure`: what wait() said.
  Floats read(std::string& failure) const {
    Floats values(m_count);
    m_device.copyOut(values.data(), m_memory, m_count * sizeof(float));
    failure = m_device.wait();
    return values;
  }

 private:
  Device& m_device;
  std::size_t m_count;
  void* m_memory = nullptr;
};

/// From -1 to 1, the same in each run.
inline Floats someFloats(std::int64_t count, std::uint32_t seed) {
  Floats values(static_cast<std::size_t>(count));
  std::uint32_t state = seed * 2654435761U + 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / 8388608.0F - 1;
  }
  return values;
}

inline bool sameBits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The greatest difference, relative to the greatest value.
inline double errorOf(const Floats& values, const std::vector<double>& expected) {
  double error = 0, most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(static_cast<double>(values[i]) - expected[i]);
    error = difference <= error ? error : difference;  // NaN stays
    most = std::max(most, std::abs(expected[i]));
  }
  return most > 0 ? error / most : error;
}

/// Runs it twice into outputs that were NaN; one line of the report.
void checkOperation(Device& device, Report& report, const std::string& what, Operation& operation,
                    const std::vector<Floats>& inputs, const std::vector<double>& expected, double tolerance);

void checkProducts(Device& device, Report& report);
void checkConvolutions(Device& device, Report& report);

}  // namespace msdbg::core::device::check

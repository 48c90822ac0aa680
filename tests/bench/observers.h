// What recording is measured against, as observers of the same training: reading every tensor once with the
// team, and saving it with plain write(). One thread.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>

#include "core_engine/runtime/observer.h"
#include "tests/bench/support.h"

namespace msdbg::bench {

class PlainObserver : public core::Observer {
 public:
  void graphReady(const core::Graph&) override {}
  void iterationStarted(core::Iteration) override {}
  void iterationFinished(core::Iteration, const core::Scalars&) override {}
};

/// Counts what there is to record.
class Counter : public PlainObserver {
 public:
  void tensorReady(const core::TensorReady& ready) override { m_bytes += ready.value.bytes(); }
  std::uint64_t bytes() const { return m_bytes; }

 private:
  std::uint64_t m_bytes = 0;
};

/// One memory read of every tensor by the team: what no statistics can do without.
class Reader : public PlainObserver {
 public:
  explicit Reader(int threads) : m_threads(threads) {}
  void tensorReady(const core::TensorReady& ready) override {
    const auto* words = reinterpret_cast<const std::uint64_t*>(ready.value.byteSpan().data());
    const auto count = static_cast<std::int64_t>(ready.value.bytes() / sizeof *words);
    std::uint64_t sum = 0;
#pragma omp parallel for simd schedule(static) num_threads(m_threads) reduction(+ : sum) if (count > 32768)
    for (std::int64_t i = 0; i < count; ++i) sum += words[i];
    m_sum += sum;
  }
  std::uint64_t sum() const { return m_sum; }

 private:
  int m_threads;
  std::uint64_t m_sum = 0;
};

/// write() of every tensor to one file an iteration, fsynced: what the simplest program would do.
class Writer : public PlainObserver {
 public:
  explicit Writer(std::filesystem::path folder) : m_folder(std::move(folder)) {
    std::filesystem::create_directories(m_folder);
  }
  void iterationStarted(core::Iteration iteration) override {
    const auto file = m_folder / (std::to_string(iteration.value) + ".bin");
    m_file = ::open(file.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (m_file < 0) fail("cannot create " + file.string());
  }
  void tensorReady(const core::TensorReady& ready) override {
    for (auto bytes = ready.value.byteSpan(); !bytes.empty();) {
      const ssize_t n = ::write(m_file, bytes.data(), bytes.size());
      if (n <= 0) fail("cannot write to " + m_folder.string());
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }
  void iterationFinished(core::Iteration, const core::Scalars&) override {
    if (::fsync(m_file) != 0) fail("cannot fsync in " + m_folder.string());
    ::close(m_file);
  }

 private:
  std::filesystem::path m_folder;
  int m_file = -1;
};

}  // namespace msdbg::bench

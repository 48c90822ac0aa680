// rank_R/status: 4 KiB shared memory file that says where a rank is right now, for the watchdog of the
// launcher and of the other ranks. Written without locks by one thread (atomics), read by anyone. Not part of
// the recording: removed when the rank ends in good order; its content is never used to answer questions
// about the run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core_engine/base/result.h"

namespace msdbg::dump {

struct RankStatus {
  std::int64_t pid = 0, iteration = -1,
               node = -1;  // node: NodeId of the running kernel's first node; -1: between iterations
  std::int64_t beat =
      0;  // counts kernels and commits that are waited for; a value that stands still means no progress
  bool waiting = false;  // inside a collective
  std::string nodeName;  // truncated to 200 bytes
};

class RankStatusWriter {
 public:
  static core::Result<std::unique_ptr<RankStatusWriter>> create(const std::filesystem::path& rankFolder);
  ~RankStatusWriter();
  void set(std::int64_t iteration, std::int64_t node, const std::string& nodeName, bool waiting);
  /// It is where it was, and goes on: the recorder that it waits for does.
  void beat();
  void remove();

 private:
  explicit RankStatusWriter(void* map, std::filesystem::path path) : m_map(map), m_path(std::move(path)) {}
  void* m_map;
  std::filesystem::path m_path;
};

/// nullopt when the file is not there (the rank has not started or has ended in good order).
std::optional<RankStatus> readRankStatus(const std::filesystem::path& rankFolder);

}  // namespace msdbg::dump

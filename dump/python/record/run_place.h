// RunPlace: the run folder of a program of another framework, on one of its ranks: made, joined, and told how
// the run ended. What ranks say to each other is the framework's affair: rank 0 makes the folder before the
// others come.
#pragma once

#include <memory>

#include "dump/descriptor.h"
#include "dump/python/record/settings.h"
#include "dump/run_info.h"
#include "dump/session/run_control.h"

namespace msdbg::dump {

class RunPlace {
 public:
  /// `options`: what is recorded, for run.json. kUsage: the folder is there already; kMissing: the run of
  /// that id is not there.
  static core::Result<std::unique_ptr<RunPlace>> make(const ForeignSettings& settings,
                                                      const RecordOptions& options);

  const std::string& id() const { return m_id; }
  /// To the launcher, if there is one and this is rank 0.
  void progress(std::int64_t iterations, std::optional<double> loss);
  /// What `recorded` says went wrong with the recording is told too. Says on stderr what is next, without a
  /// launcher.
  void end(RunEnd how, const core::Status& recorded, std::int64_t iterations);

 private:
  RunPlace(const ForeignSettings& settings) : m_settings(settings) {}
  core::Status join(const RecordOptions& options);
  core::Status create(const RecordOptions& options);
  RunInfo describe(RunInfo info, const RecordOptions& options) const;
  void say(const RunEnd& how, std::int64_t iterations) const;

  const ForeignSettings m_settings;
  std::string m_id;
  bool m_mine = false;
  Descriptor m_lock;  // while it lives, nobody replaces the folder
  std::unique_ptr<RunControl> m_control;
};

}  // namespace msdbg::dump

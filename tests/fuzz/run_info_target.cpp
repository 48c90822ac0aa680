#include "dump/run_info.h"
#include "tests/fuzz/fuzz_targets.h"

namespace msdbg::fuzz {

void fuzzRunInfo(Bytes input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  const auto info = dump::RunInfo::fromJson(text, "run.json");
  if (!info.ok()) return;
  const std::string written = info->toJson();
  const auto again = dump::RunInfo::fromJson(written, "again");
  require(again.ok(), "a run.json that was rewritten can be read");
  require(again->toJson() == written, "a run.json is rewritten as it was read");
}

}  // namespace msdbg::fuzz

// From what dump reads and writes to what every run tells. Pure functions.
#pragma once

#include "dump/reader/run_reader.h"
#include "replay/run_types.h"

namespace msdbg::replay {

RunEnd translated(const dump::RunEnd& end);
RunDescription translated(const dump::RunInfo& info);
Damage translated(const dump::Damage& damage);
Gap translated(const dump::RecordedGap& gap);
Restart translated(const dump::RecordedRestart& restart);
RecordedHit translated(const dump::RecordedHit& hit);
Thinning translated(const dump::RunReader::Thinning& thinning);
ValueOrigin translated(dump::ValueOrigin origin);
Storage translated(const dump::RunReader::StorageInfo& storage);
RecordingTimes translated(const dump::RecordingTimes& times);
CheckpointInterval translated(const dump::CheckpointInterval& interval);

template <typename T>
auto translated(const std::vector<T>& all) {
  std::vector<decltype(translated(all.front()))> list;
  list.reserve(all.size());
  for (const T& one : all) list.push_back(translated(one));
  return list;
}
template <typename T>
auto translated(const std::optional<T>& one) {
  return one ? std::optional(translated(*one)) : std::nullopt;
}

}  // namespace msdbg::replay

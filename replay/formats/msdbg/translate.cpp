#include "replay/formats/msdbg/translate.h"

#include <fmt/format.h>

#include "dump/policy/policy_text.h"

namespace msdbg::replay {

RunEnd translated(const dump::RunEnd& end) {
  return {.state = end.state,
          .message = end.message,
          .exitStatus = end.exitStatus,
          .signal = end.signal,
          .rank = end.rank,
          .node = end.node,
          .iteration = end.iteration,
          .condition = end.condition,
          .tensor = end.tensor};
}

RunDescription translated(const dump::RunInfo& info) {
  return {.id = info.id,
          .format = fmt::format("{}.{}", info.formatMajor, info.formatMinor),
          .version = info.version,
          .command = info.command,
          .model = info.model,
          .modelOptions = info.modelOptions,
          .host = info.host,
          .startedAt = info.startedAt,
          .endedAt = info.endedAt,
          .cpuModel = info.cpuModel,
          .cpuFeatures = info.cpuFeatures,
          .caches = info.caches,
          .libraries = info.libraries,
          .ranks = info.ranks,
          .threads = info.threads,
          .backend = info.backend,
          .seed = info.seed,
          .data = info.data,
          .faults = info.faults,
          .passes = info.passes,
          .recompute = info.recompute,
          .policy = info.policy.toJson(),
          .policyText = dump::policyText(info.policy),
          .maxBytes = info.policy.maxBytes,
          .end = translated(info.end)};
}

Damage translated(const dump::Damage& damage) {
  return {damage.where, damage.what, damage.rank, damage.iterations};
}

Gap translated(const dump::RecordedGap& gap) {
  return {gap.rank, gap.line.iterations, gap.line.why, gap.line.from, gap.line.until};
}

Restart translated(const dump::RecordedRestart& restart) {
  return {restart.rank, restart.line.iteration, restart.line.newest};
}

RecordedHit translated(const dump::RecordedHit& hit) {
  return {.rank = hit.rank,
          .iteration = hit.line.iteration,
          .condition = hit.line.condition,
          .tensor = hit.line.tensor,
          .node = hit.line.node,
          .parameter = hit.line.parameter,
          .preset = hit.line.preset,
          .actual = hit.line.actual,
          .count = hit.line.count,
          .detail = hit.line.detail};
}

Thinning translated(const dump::RunReader::Thinning& thinning) {
  Thinning result{.whole = thinning.whole, .parts = {}, .others = thinning.others};
  for (const auto& part : thinning.parts) result.parts.push_back({part.step, part.first, part.last});
  return result;
}

ValueOrigin translated(dump::ValueOrigin origin) {
  switch (origin) {
    case dump::ValueOrigin::kTensor:
      return ValueOrigin::kTensor;
    case dump::ValueOrigin::kCheckpoint:
      return ValueOrigin::kCheckpoint;
    case dump::ValueOrigin::kBatch:
      break;
  }
  return ValueOrigin::kBatch;
}

Storage translated(const dump::RunReader::StorageInfo& storage) {
  return {.raw = storage.rawBytes,
          .stored = storage.storedBytes,
          .files = storage.fileBytes,
          .states = storage.stateBytes,
          .batches = storage.batchBytes,
          .segments = storage.segments};
}

RecordingTimes translated(const dump::RecordingTimes& times) {
  RecordingTimes result{.wallSeconds = times.wallSeconds, .stages = {}, .writtenBy = times.writtenBy};
  for (std::size_t i = 0; i < dump::kStages; ++i)
    result.stages.push_back({std::string(stageName(static_cast<dump::Stage>(i))), times.stages[i].seconds,
                             times.stages[i].bytes});
  return result;
}

CheckpointInterval translated(const dump::CheckpointInterval& interval) {
  return {interval.iterations, interval.bytes};
}

}  // namespace msdbg::replay

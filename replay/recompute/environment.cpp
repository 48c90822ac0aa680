#include "replay/recompute/environment.h"

#include <fmt/format.h>

#include <algorithm>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "core_engine/runtime/backend.h"

namespace msdbg::replay {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

std::string valueOf(const Texts& texts, const std::string& name) {
  const auto found = std::ranges::find(texts, name, &Texts::value_type::first);
  return found == texts.end() ? "" : found->second;
}

// "2.6.3 avx512_core" -> "avx512_core"
std::string instructionSetOf(const std::string& dnnl) {
  const std::size_t space = dnnl.find(' ');
  return space == std::string::npos ? "" : dnnl.substr(space + 1);
}

// "clang", "12.2.0": what our own code was compiled with. Kernels of ours carry revisions, so it counts for
// little; libc computes exp and log by code that it chooses by these.
constexpr const char* kLibcFeatures[] = {"fma", "avx2"};

std::vector<std::string> otherFeatures(const std::vector<std::string>& then,
                                       const std::vector<std::string>& now) {
  std::vector<std::string> other;
  for (const char* feature : kLibcFeatures) {
    const bool had = std::ranges::count(then, feature) > 0, has = std::ranges::count(now, feature) > 0;
    if (had != has) other.push_back(std::string("a CPU ") + (has ? "with " : "without ") + feature);
  }
  return other;
}

}  // namespace

void matchInstructionSet(const RunDescription& recorded) {
  const std::string wanted = instructionSetOf(valueOf(recorded.libraries, "dnnl"));
  static std::string limitedTo;  // of the process: oneDNN takes it once
  if (wanted.empty() || wanted == limitedTo) return;
  if (const core::Status limited = core::limitInstructionSet(wanted); !limited.ok())
    core::logWarn(limited.error().message());
  else
    limitedTo = wanted;
}

core::BackendKind backendFor(const RunDescription& recorded) {
  const core::Result<core::BackendKind> then = core::backendNamed(recorded.backend);
  if (!then.ok()) return core::BackendKind::kFast;  // of a later version
  return core::deviceLibraries(*then, core::Rank(0)).ok() ? *then : core::BackendKind::kFast;
}

std::vector<std::string> environmentDifferences(const RunDescription& recorded) {
  core::CpuInfo here = core::cpuInfo();
  std::vector<std::string> other;
  const core::BackendKind backend = backendFor(recorded);
  if (core::backendName(backend) != recorded.backend) {
    const std::string device = valueOf(recorded.libraries, "device");
    other.push_back(fmt::format("the backend {} instead of {}{}", core::backendName(backend),
                                recorded.backend, device.empty() ? "" : " on " + device));
  } else if (const auto device = core::deviceLibraries(backend, core::Rank(0)); device.ok()) {
    here.libraries.insert(here.libraries.end(), device->begin(), device->end());
  }
  for (const auto& [name, version] : here.libraries) {
    const std::string then = valueOf(recorded.libraries, name);
    if (!then.empty() && then != version)
      other.push_back(fmt::format("{} {} instead of {}", name == "dnnl" ? "oneDNN" : name, version, then));
  }
  if (!recorded.cpuFeatures.empty()) {
    const auto features = otherFeatures(recorded.cpuFeatures, here.features);
    other.insert(other.end(), features.begin(), features.end());
  }
  if (!recorded.caches.empty() && recorded.caches != here.caches) {
    std::vector<std::string> then, now;
    for (const auto& [name, bytes] : recorded.caches)
      then.push_back(name + " " + core::formatBytes(static_cast<std::uint64_t>(bytes)));
    for (const auto& [name, bytes] : here.caches)
      now.push_back(name + " " + core::formatBytes(static_cast<std::uint64_t>(bytes)));
    other.push_back(fmt::format("caches of {} instead of {}", core::join(now, ", "), core::join(then, ", ")));
  }
  return other;
}

}  // namespace msdbg::replay

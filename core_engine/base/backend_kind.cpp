#include "core_engine/base/backend_kind.h"

#include <algorithm>
#include <array>

#include "core_engine/base/text.h"

namespace msdbg::core {
namespace {

struct NamedKind {
  BackendKind kind;
  std::string_view name;
};
constexpr std::array kKinds = {
    NamedKind{BackendKind::kFast, "cpu"}, NamedKind{BackendKind::kReference, "reference"},
    NamedKind{BackendKind::kEmulated, "emulated"}, NamedKind{BackendKind::kCuda, "cuda"}};

}  // namespace

std::string_view backendName(BackendKind kind) {
  return std::ranges::find(kKinds, kind, &NamedKind::kind)->name;
}

Result<BackendKind> backendNamed(std::string_view name) {
  std::vector<std::string> known;
  for (const NamedKind& kind : kKinds) {
    if (kind.name == name) return kind.kind;
    known.emplace_back(kind.name);
  }
  const std::string near = didYouMean(name, known);
  return Error(ErrorCode::kUsage, "there is no backend '" + std::string(name) + "'" +
                                      (near.empty() ? "; there are " + join(known, ", ") : near));
}

}  // namespace msdbg::core

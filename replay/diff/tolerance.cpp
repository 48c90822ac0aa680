#include "replay/diff/tolerance.h"

#include <charconv>
#include <cmath>

#include "core_engine/base/text.h"

namespace msdbg::replay {

core::Result<Tolerance> Tolerance::parse(const std::string& text) {
  if (text == "exact") return Tolerance{};
  if (text == "auto") return Tolerance{Kind::kLastBit, 0};
  double scale = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(scale) || scale < 0)
    return core::Error(core::ErrorCode::kUsage,
                       "'" + text +
                           "' is no tolerance: give exact, auto, or a part of a tensor's largest "
                           "number such as 1e-5");
  return Tolerance{Kind::kScaled, scale};
}

std::string Tolerance::text() const {
  switch (kind) {
    case Kind::kExact:
      return "exact";
    case Kind::kScaled:
      return core::formatDouble(scale);
    case Kind::kLastBit:
      return "auto";
  }
  return "";
}

}  // namespace msdbg::replay

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstdlib>

#include "core_engine/base/text.h"
#include "replay/inspect.h"

namespace msdbg::replay {

using core::Tensor;

namespace {

/// The shortest text that gives the same number of so small a type again; it may give another float32. Whole
/// numbers that a person reads at once are written out: 448, though 4.5e+02 would do.
template <core::SmallFloat T>
std::string shortestText(T value) {
  const double number = core::toDouble(value);
  const bool plain = std::trunc(number) == number && std::fabs(number) < 1e6;
  for (int digits = plain ? 6 : 1;; ++digits) {
    std::string text = core::formatShort(number, digits);
    if (core::toDouble(core::roundTo<T>(std::strtod(text.c_str(), nullptr))) == number) return text;
  }
}

std::string exactText(bool value) { return value ? "true" : "false"; }
std::string exactText(double value) { return core::formatDouble(value); }
std::string exactText(float value) {
  return std::isfinite(value) ? fmt::format("{}", value) : core::formatDouble(value);
}
template <std::integral T>
std::string exactText(T value) {
  return std::to_string(value);
}
template <core::SmallFloat T>
std::string exactText(T value) {
  return std::isfinite(core::toFloat(value)) ? shortestText(value)
                                             : core::formatDouble(core::toDouble(value));
}

std::string shortText(double value) { return core::formatShort(value); }
template <typename T>
std::string shortText(T value) {
  if constexpr (std::integral<T>)
    return exactText(value);
  else
    return core::formatShort(core::toDouble(value));
}

/// "1.5-2j": the second part always has a sign.
std::string complexText(const std::string& real, const std::string& imag) {
  return real + (imag.starts_with('-') ? "" : "+") + imag + "j";
}

template <typename Text>
std::string textAt(const Tensor& tensor, std::int64_t flatIndex, Text&& text) {
  const auto at = static_cast<std::size_t>(flatIndex);
  return core::visitDType(tensor.dtype(), [&](auto type) -> std::string {
    using T = decltype(type);
    if constexpr (std::same_as<T, bool>)
      return text(tensor.at(flatIndex) != 0);  // any stored byte but 0 is true
    else if constexpr (core::ComplexNumber<T>)
      return complexText(text(tensor.data<T>()[at].real), text(tensor.data<T>()[at].imag));
    else
      return text(tensor.data<T>()[at]);
  });
}

}  // namespace

std::string elementText(const Tensor& tensor, std::int64_t flatIndex) {
  return textAt(tensor, flatIndex, [](auto value) { return shortText(value); });
}

std::string exactElementText(const Tensor& tensor, std::int64_t flatIndex) {
  return textAt(tensor, flatIndex, [](auto value) { return exactText(value); });
}

}  // namespace msdbg::replay

// How far two tensors are apart, for people.
#include <fmt/format.h>

#include <cmath>

#include "app/cli/diff_view.h"
#include "app/cli/table.h"
#include "core_engine/tensor/index_text.h"

namespace msdbg::app {

using core::formatShort;
using core::printable;
using replay::Measures;

void printDiffFact(const std::string& name, const std::string& text) {
  if (!text.empty()) fmt::print("  {:<10} {}\n", name, text);
}

std::string percentText(double share) {
  const double value = 100 * share;
  return share > 0 && value < 0.01 ? "< 0.01 %" : formatShort(value, 3) + " %";
}

std::string kindsText(const Measures& m) {
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", groupedNumber(count), what));
  };
  add(m.nanOnlyA, "NaN in the first only");
  add(m.nanOnlyB, "NaN in the second only");
  add(m.nanBits, "NaN in both, in other bits");
  add(m.infinite, "infinite");
  add(m.otherSign, "of the other sign");
  add(m.zeroSign, "0 against -0");
  return core::join(parts, ", ");
}

namespace {

// "[3, 5]"; a scalar has no place.
std::string placeText(const Measures& m, std::int64_t at) {
  return m.shape.rank() == 0 ? "" : "[" + core::indexText(m.shape, at) + "]";
}

std::string apartText(const Measures& m) {
  if (!m.maxAt) return "";  // nothing finite differs
  const std::string place = placeText(m, *m.maxAt);
  std::string text = fmt::format("max abs {}{} ({} against {}), max rel {}", formatShort(m.maxAbs, 4),
                                 place.empty() ? "" : " at " + place, formatShort(m.maxA, 9),
                                 formatShort(m.maxB, 9), formatShort(m.maxRel, 4));
  if (!std::isnan(m.relativeNorm)) text += fmt::format(", |a-b|/|a| {}", formatShort(m.relativeNorm, 4));
  if (!std::isnan(m.cosine)) text += fmt::format(", cosine {}", formatShort(m.cosine, 9));
  return text;
}

}  // namespace

void printMeasures(const Measures& m, std::optional<double> lastBit, const std::string& nameA,
                   const std::string& nameB) {
  printDiffFact("differ", fmt::format("{} of {} elements ({}), {}", groupedNumber(m.different),
                                      groupedNumber(m.elements), percentText(m.share()),
                                      replay::spreadText(m.where, m.different, m.elements)));
  if (m.first)
    printDiffFact(
        "first",
        fmt::format("{}{} in {}, {} in {}", m.shape.rank() == 0 ? "" : placeText(m, *m.first) + ": ",
                    formatShort(m.firstA, 9), printable(nameA), formatShort(m.firstB, 9), printable(nameB)));
  printDiffFact("kinds", kindsText(m));
  printDiffFact("apart", apartText(m));
  if (lastBit && *lastBit > 0 && m.maxAbs > 0)
    printDiffFact("rounding", fmt::format("{} x what one last bit of its inputs makes ({})",
                                          formatShort(m.maxAbs / *lastBit, 3), formatShort(*lastBit, 3)));
  printDiffFact("ulps", replay::ulpText(m));
}

}  // namespace msdbg::app

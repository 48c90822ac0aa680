// What two runs were made with: what of it differs, and whether values may differ for it. Pure functions of
// what the runs say of themselves; planted faults are not looked at.
#pragma once

#include <string>
#include <vector>

#include "replay/run.h"

namespace msdbg::replay {

struct ConfigurationDifference {
  std::string what;      // "seed", "option lr", "library dnnl"
  std::string a, b;      // "" where one says nothing of it
  bool numbers = false;  // other numbers are to be expected of it, be they those of rounding
};
/// In the order in which they are likely to matter.
std::vector<ConfigurationDifference> compareConfigurations(const RunDescription& a, const RunDescription& b);

struct SourceDifference {
  std::string file;  // as frames name it
  bool inA = true, inB = true;
};
/// Source files of nodes whose text is not the same, by name.
std::vector<SourceDifference> compareSources(const Run& a, const Run& b);

}  // namespace msdbg::replay

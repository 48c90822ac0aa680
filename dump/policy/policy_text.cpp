#include "dump/policy/policy_text.h"

#include <fmt/format.h>

#include "core_engine/base/text.h"

namespace msdbg::dump {

std::string policyText(const RecordOptions& policy) {
  std::vector<std::string> parts;
  for (const Rule& rule : policy.allRules()) parts.push_back(ruleText(rule));
  if (policy.every != 1) parts.push_back(fmt::format("every {} iterations", policy.every));
  if (policy.iterations.text() != core::IndexList::all().text())
    parts.push_back("iterations " + policy.iterations.text());
  if (policy.onHit.on())
    parts.push_back((policy.keepsValues() ? "values near hits only: " : "hits are told: ") +
                    policy.onHit.text());
  if (policy.keepsValues()) parts.push_back("values within " + core::formatBytes(policy.maxBytes));
  if (policy.keepLast > 0) parts.push_back(fmt::format("of the {} newest iterations", policy.keepLast));
  return core::join(parts, "; ");
}

}  // namespace msdbg::dump

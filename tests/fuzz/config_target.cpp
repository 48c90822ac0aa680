#include "dump/policy/record_options.h"
#include "tests/fuzz/fuzz_targets.h"

namespace msdbg::fuzz {
namespace {

void fuzzRule(const std::string& text) {
  const auto rule = dump::parseRule(text);
  if (!rule.ok()) return;
  const std::string written = dump::ruleText(*rule);
  const auto again = dump::parseRule(written);
  require(again.ok() && dump::ruleText(*again) == written, "the text of a rule means the rule");
}

}  // namespace

void fuzzConfig(Bytes input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  fuzzRule(text);
  const auto options = dump::RecordOptions::fromJson(text);
  if (!options.ok()) {
    require(options.error().message().find('\n') == std::string::npos, "an error is one line");
    return;
  }
  const std::string written = options->toJson();
  const auto again = dump::RecordOptions::fromJson(written);
  require(again.ok() && again->toJson() == written, "options are written as they were read");
}

}  // namespace msdbg::fuzz

// Parsing of `--fault` specs.
#include <charconv>
#include <cmath>

#include "core_engine/base/text.h"
#include "core_engine/runtime/fault.h"

namespace msdbg::core {
namespace {

struct KindName {
  std::string_view name;
  FaultKind kind;
  double scale = 1e4;  // where the spec gives none
};
constexpr KindName kKinds[] = {
    {"nan", FaultKind::kNan},
    {"inf", FaultKind::kInf},
    {"bitflip", FaultKind::kBitflip},
    {"zero_grad", FaultKind::kZeroGrad},
    {"skip_allreduce", FaultKind::kSkipAllreduce},
    {"stale_weight", FaultKind::kStaleWeight},
    {"lr", FaultKind::kLr},
    {"dead_relu", FaultKind::kDeadRelu},
    {"wrong_kernel", FaultKind::kWrongKernel, 1.001},
    {"truncate_dtype", FaultKind::kTruncateDtype},
    {"wrong_backward", FaultKind::kWrongBackward, 2},
};
constexpr std::string_view kGrammar = "KIND@iteration=I[,rank=R][,node=GLOB][,element=E][,bit=B][,scale=S]";

Error usage(std::string_view spec, const std::string& what) {
  return {ErrorCode::kUsage, "fault '" + std::string(spec) + "': " + what};
}

Result<std::int64_t> parseCount(std::string_view spec, std::string_view key, std::string_view text,
                                std::int64_t limit) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > limit)
    return usage(spec, std::string(key) + " must be a whole number from 0 to " + std::to_string(limit) +
                           ", not '" + std::string(text) + "'");
  return value;
}

Result<KindName> parseKind(std::string_view spec, std::string_view name) {
  std::vector<std::string> names;
  for (const KindName& k : kKinds) {
    if (k.name == name) return k;
    names.emplace_back(k.name);
  }
  return usage(spec, "unknown kind '" + std::string(name) + "'; the kinds are " + join(names, ", "));
}

Status parseKey(FaultSpec& fault, std::string_view spec, std::string_view key, std::string_view value) {
  constexpr std::int64_t kMax = INT64_MAX;
  if (key == "iteration") {
    MSDBG_ASSIGN(const std::int64_t n, parseCount(spec, key, value, kMax));
    fault.iteration = Iteration(n);
  } else if (key == "rank") {
    MSDBG_ASSIGN(const std::int64_t n, parseCount(spec, key, value, 65535));
    fault.rank = Rank(n);
  } else if (key == "node") {
    fault.node = std::string(value);
  } else if (key == "element") {
    MSDBG_ASSIGN(fault.element, parseCount(spec, key, value, kMax));
  } else if (key == "bit") {
    MSDBG_ASSIGN(const std::int64_t n, parseCount(spec, key, value, 63));
    fault.bit = static_cast<int>(n);
  } else if (key == "scale") {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), fault.scale);
    if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(fault.scale))
      return usage(spec, "scale must be a finite number, not '" + std::string(value) + "'");
  } else {
    return usage(spec, "unknown key '" + std::string(key) + "'; the form is " + std::string(kGrammar));
  }
  return Ok{};
}

/// Splits at commas outside brackets, so that globs like `[a,b]*` stay whole.
std::vector<std::string_view> splitKeys(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i == text.size() || (text[i] == ',' && depth <= 0)) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  return parts;
}

}  // namespace

Result<FaultSpec> parseFault(std::string_view text) {
  FaultSpec fault;
  fault.text = std::string(text);
  const std::size_t at = text.find('@');
  MSDBG_ASSIGN(const KindName kind, parseKind(text, text.substr(0, at)));
  fault.kind = kind.kind;
  fault.scale = kind.scale;
  if (at == std::string_view::npos)
    return usage(text, "no iteration given; the form is " + std::string(kGrammar));
  bool hasIteration = false;
  for (std::string_view part : splitKeys(text.substr(at + 1))) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      return usage(text, "'" + std::string(part) + "' has no value; the form is " + std::string(kGrammar));
    MSDBG_TRY(parseKey(fault, text, part.substr(0, equals), part.substr(equals + 1)));
    hasIteration |= part.substr(0, equals) == "iteration";
  }
  if (!hasIteration) return usage(text, "no iteration given; the form is " + std::string(kGrammar));
  return fault;
}

std::string whyNeverActed(const FaultSpec& fault, Iteration first, Iteration last) {
  if (first <= fault.iteration && fault.iteration <= last) return "";
  const std::string what = "fault '" + fault.text + "' never acts: training has ";
  if (last < first) return what + "no iteration";
  return what + "iterations " + IndexList({{first.value, last.value}}).text() + " only";
}

}  // namespace msdbg::core

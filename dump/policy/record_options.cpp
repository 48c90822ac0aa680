#include "dump/policy/record_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "dump/commit_file.h"
#include "dump/policy/located_json_internal.h"
#include "dump/policy/record_options_internal.h"

namespace msdbg::dump {

using core::Error;
using core::ErrorCode;
using core::Result;

namespace {

constexpr std::size_t kLargestConfig = 1u << 20;

using Texts = std::vector<std::string>;

template <typename T>
T orMistake(Result<T> result, const std::string& path) {
  if (!result.ok()) throw JsonMistake(path, result.error().message());
  return std::move(result).value();
}

void orMistake(const core::Status& status, const std::string& path) {
  if (!status.ok()) throw JsonMistake(path, status.error().message());
}

// What stands there instead of what was expected; a whole list or object would be too long.
std::string shown(const Json& json) {
  return json.is_structured() ? "an " + std::string(json.type_name()) : json.dump();
}

// A text, a number, or a list of them, as texts: what the command line would hold.
Texts textsFrom(const Json& json, const std::string& path) {
  if (json.is_string()) return {json.get<std::string>()};
  if (json.is_number_integer()) return {json.dump()};
  if (!json.is_array())
    throw JsonMistake(path, "a text, a whole number or a list of these is expected, not " + shown(json));
  Texts texts;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string element = path + "/" + std::to_string(i);
    if (json[i].is_array()) throw JsonMistake(element, "a text is expected, not " + shown(json[i]));
    texts.push_back(textsFrom(json[i], element).front());
  }
  return texts;
}

std::string textFrom(const Json& json, const std::string& path) {
  if (!json.is_string()) throw JsonMistake(path, "a text is expected, not " + shown(json));
  return json.get<std::string>();
}

std::uint64_t bytesFrom(const Json& json, const std::string& path) {
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  return orMistake(core::parseBytes(json.is_string() ? json.get<std::string>() : shown(json)), path);
}

std::int64_t countFrom(const Json& json, const std::string& path) {
  if (json.is_number_integer() && json.get<std::int64_t>() >= 0) return json.get<std::int64_t>();
  throw JsonMistake(path, shown(json) + " is not a whole number from 0");
}

double secondsFrom(const Json& json, const std::string& path) {
  if (json.is_number() && json.get<double>() >= 0) return json.get<double>();
  throw JsonMistake(path, shown(json) + " is not a number of seconds from 0");
}

// What a rule's key is given, as texts. A number is no text here, as the schema has it.
Texts valuesFrom(const RuleKey& key, const Json& json, const std::string& path) {
  if (key.form == RuleKey::Form::kNumber && !json.is_number_integer())
    throw JsonMistake(path, "a whole number is expected, not " + shown(json));
  return textsFrom(json, path);
}

// The key of a rule does what is wanted of a key of the same name at the top.
Rule ruleWith(std::string_view name, const Json& json, const std::string& path) {
  Rule rule;
  const RuleKey* const key = orMistake(findRuleKey(name), path);
  orMistake(key->set(rule, valuesFrom(*key, json, path)), path);
  return rule;
}

Rule ruleFrom(const Json& json, const std::string& path) {
  if (json.is_string()) return orMistake(parseRule(json.get<std::string>()), path);
  if (!json.is_object())
    throw JsonMistake(path, "a rule is expected: {\"tensors\": \"grad(*)\", \"policy\": \"full\"}");
  Rule rule;
  for (const auto& [name, value] : json.items()) {
    const std::string at = path + "/" + name;
    const RuleKey* const key = orMistake(findRuleKey(name), at);
    orMistake(key->set(rule, valuesFrom(*key, value, at)), at);
  }
  if (!json.contains("policy"))
    throw JsonMistake(path, "the key policy is missing (full, stats, record, none)");
  return rule;
}

std::vector<Rule> rulesFrom(const Json& json, const std::string& path) {
  if (!json.is_array()) throw JsonMistake(path, "a list of rules is expected, not " + shown(json));
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < json.size(); ++i)
    rules.push_back(ruleFrom(json[i], path + "/" + std::to_string(i)));
  return rules;
}

bool flagFrom(const Json& json, const std::string& path) {
  if (json.is_boolean()) return json.get<bool>();
  throw JsonMistake(path, "true or false is expected, not " + shown(json));
}

OnHit onHitFrom(const Json& json, const std::string& path, OnHit onHit) {
  if (!json.is_object())
    throw JsonMistake(path, R"(an object is expected: {"conditions": "recommended", "before": 1})");
  for (const auto& [key, value] : json.items()) {
    const std::string at = path + "/" + key;
    if (key == "conditions") {
      onHit.conditions = textsFrom(value, at);
      orMistake(onHitConditions(onHit.conditions), at);
    } else if (key == "before") {
      onHit.before = countFrom(value, at);
    } else if (key == "after") {
      onHit.after = countFrom(value, at);
    } else if (key == "stop") {
      onHit.stop = flagFrom(value, at);
    } else {
      throw JsonMistake(at, "there is no such key; there are conditions, before, after, stop");
    }
  }
  if (!onHit.on() && !json.contains("conditions"))  // an empty list of them says: off
    throw JsonMistake(path, R"(conditions are missing, such as "conditions": "recommended")");
  return onHit;
}

Json onHitJson(const OnHit& onHit) {
  return {{"conditions", onHit.conditions},
          {"before", onHit.before},
          {"after", onHit.after},
          {"stop", onHit.stop}};
}

Json checkpointsJson(std::int64_t every) {
  if (every == RecordOptions::kAuto) return "auto";
  return every == RecordOptions::kNoCheckpoints ? Json("none") : Json(every);
}

struct OptionKey {
  const char* name;
  void (*set)(RecordOptions& options, const Json& json, const std::string& path);
};

constexpr OptionKey kOptionKeys[] = {
    {"rules", [](RecordOptions& options, const Json& json,
                 const std::string& path) { options.rules = rulesFrom(json, path); }},
    {"policy",
     [](RecordOptions& options, const Json& json, const std::string& path) {
       options.policy = orMistake(policyFromName(textFrom(json, path)), path);
     }},
    {"checkpoint_every",
     [](RecordOptions& options, const Json& json, const std::string& path) {
       const std::string text = json.is_number_integer() ? json.dump() : textFrom(json, path);
       options.checkpointEvery = orMistake(RecordOptions::parseCheckpointEvery(text), path);
     }},
    {"batches", [](RecordOptions& options, const Json& json,
                   const std::string& path) { options.batches = flagFrom(json, path); }},
    {"tensors", [](RecordOptions& options, const Json& json,
                   const std::string& path) { options.tensors = textsFrom(json, path); }},
    {"iterations",
     [](RecordOptions& options, const Json& json, const std::string& path) {
       options.iterations = ruleWith("iterations", json, path).iterations;
     }},
    {"every", [](RecordOptions& options, const Json& json,
                 const std::string& path) { options.every = ruleWith("every", json, path).every; }},
    {"max_bytes", [](RecordOptions& options, const Json& json,
                     const std::string& path) { options.maxBytes = bytesFrom(json, path); }},
    {"keep_last", [](RecordOptions& options, const Json& json,
                     const std::string& path) { options.keepLast = countFrom(json, path); }},
    {"keep_free_bytes",
     [](RecordOptions& options, const Json& json, const std::string& path) {
       options.keepFree.reset();
       if (json != "auto") options.keepFree = bytesFrom(json, path);
     }},
    {"on_error",
     [](RecordOptions& options, const Json& json, const std::string& path) {
       options.onError = orMistake(onErrorFromText(textFrom(json, path)), path);
     }},
    {"buffer_bytes", [](RecordOptions& options, const Json& json,
                        const std::string& path) { options.bufferBytes = bytesFrom(json, path); }},
    {"on_hit", [](RecordOptions& options, const Json& json,
                  const std::string& path) { options.onHit = onHitFrom(json, path, options.onHit); }},
    {"compress",
     [](RecordOptions& options, const Json& json, const std::string& path) {
       options.compress = orMistake(compressFromName(textFrom(json, path)), path);
     }},
    {"write",
     [](RecordOptions& options, const Json& json, const std::string& path) {
       options.write = orMistake(writingWayFromName(textFrom(json, path)), path);
     }},
    {"commit_every_seconds",
     [](RecordOptions& options, const Json& json, const std::string& path) {
       options.commitSeconds = secondsFrom(json, path);
       if (options.commitSeconds < RecordOptions::kLeastCommit ||
           options.commitSeconds > RecordOptions::kMostCommit)
         throw JsonMistake(path, "must be from 1 to 3600 seconds");
     }},
    {"watchdog_seconds", [](RecordOptions& options, const Json& json,
                            const std::string& path) { options.watchdogSeconds = secondsFrom(json, path); }},
    {"watchdog_kill", [](RecordOptions& options, const Json& json,
                         const std::string& path) { options.watchdogKills = flagFrom(json, path); }},
};

const OptionKey* findOptionKey(std::string_view name) {
  const auto* const row = std::ranges::find(kOptionKeys, name, &OptionKey::name);
  return row == std::end(kOptionKeys) ? nullptr : row;
}

RecordOptions optionsFrom(const Json& json, RecordOptions options) {
  for (const auto& [key, value] : json.items()) {
    const std::string path = "/" + key;
    if (key == "$schema") continue;
    if (const OptionKey* row = findOptionKey(key)) {
      row->set(options, value, path);
      continue;
    }
    Texts names;
    for (const OptionKey& row : kOptionKeys) names.emplace_back(row.name);
    const std::string near = core::didYouMean(key, names);
    throw JsonMistake(
        path, "there is no such key" + (near.empty() ? "; there are " + core::join(names, ", ") : near));
  }
  return options;
}

Json valueJson(const RuleKey& key, const Texts& values) {
  if (key.form == RuleKey::Form::kList) return values;
  if (key.form == RuleKey::Form::kNumber) return Json::parse(values.front());
  return core::join(values, ",");
}

Json ruleToJson(const Rule& rule) {
  Json json = Json::object();
  for (const RuleKey& key : ruleKeys())
    if (const Texts values = key.get(rule); !values.empty())
      json[std::string(key.name)] = valueJson(key, values);
  return json;
}

}  // namespace

Result<bool> compressFromName(std::string_view name) {
  if (name == "auto") return true;
  if (name == "none") return false;
  return Error(ErrorCode::kUsage, "'" + std::string(name) + "' is not a way to compress (auto, none)");
}

Result<OnError> onErrorFromText(const std::string& text) {
  if (text == "stop") return OnError::kStop;
  if (text == "continue") return OnError::kContinue;
  return Error(ErrorCode::kUsage, "'" + text + "' is neither stop nor continue");
}

Policy RecordOptions::restPolicy() const {
  return policy.value_or(rules.empty() || !tensors.empty() ? Policy::kFull : Policy::kStats);
}

Result<std::int64_t> RecordOptions::parseCheckpointEvery(const std::string& text) {
  if (text == "auto") return kAuto;
  if (text == "none") return kNoCheckpoints;
  std::int64_t every = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), every);
  if (error == std::errc() && end == text.data() + text.size() && every >= 1 && every <= kLongestInterval)
    return every;
  return Error(ErrorCode::kUsage, "'" + text + "' is not auto, none or a whole number from 1");
}

bool RecordOptions::keepsValues() const {
  return std::ranges::count(allRules(), Policy::kFull, &Rule::policy) > 0;
}

std::vector<Rule> RecordOptions::allRules() const {
  std::vector<Rule> all = rules;
  const bool some = restPolicy() == Policy::kFull && !tensors.empty();
  if (some) all.push_back({.policy = Policy::kFull, .tensors = tensors});
  all.push_back({.policy = some ? Policy::kStats : restPolicy()});
  return all;
}

Json optionsToJson(const RecordOptions& options) {
  Json json = {{"policy", policyName(options.restPolicy())},
               {"tensors", options.tensors},
               {"iterations", options.iterations.text()},
               {"every", options.every},
               {"max_bytes", options.maxBytes},
               {"keep_last", options.keepLast},
               {"keep_free_bytes", options.keepFree ? Json(*options.keepFree) : Json("auto")},
               {"on_error", options.onErrorText()},
               {"buffer_bytes", options.bufferBytes},
               {"compress", options.compress ? "auto" : "none"},
               {"write", writingWayName(options.write)},
               {"commit_every_seconds", options.commitSeconds},
               {"watchdog_seconds", options.watchdogSeconds},
               {"watchdog_kill", options.watchdogKills},
               {"rules", Json::array()}};
  if (options.checkpointEvery) json["checkpoint_every"] = checkpointsJson(*options.checkpointEvery);
  if (options.batches) json["batches"] = *options.batches;
  for (const Rule& rule : options.rules) json["rules"].push_back(ruleToJson(rule));
  if (options.onHit.on()) json["on_hit"] = onHitJson(options.onHit);
  if (options.otherKeys.empty()) return json;
  const auto other = guarded(options.otherKeys, [](const Json& keys) { return keys; });
  if (other.ok()) json.update(*other);
  return json;
}

RecordOptions optionsOfRun(const Json& json, bool newer) {
  if (!json.is_object()) throw std::runtime_error("a policy that is no object");
  RecordOptions options;
  Json other = Json::object();
  for (const auto& [key, value] : json.items()) {
    if (value.is_null()) continue;
    const OptionKey* row = findOptionKey(key);
    try {
      if (row) row->set(options, value, key);
    } catch (const JsonMistake&) {
      if (key != "rules" && key != "on_hit" && !newer) throw;
      row = nullptr;  // of a newer version: nothing but a message depends on it
    }
    if (!row) other[key] = value;
  }
  if (!other.empty()) options.otherKeys = jsonText(other);
  return options;
}

std::string RecordOptions::toJson() const { return jsonText(optionsToJson(*this)); }

Result<RecordOptions> RecordOptions::fromJson(const std::string& text, const RecordOptions& base) {
  MSDBG_ASSIGN(const LocatedJson json, LocatedJson::parse(text));
  try {
    return optionsFrom(json.root(), base);
  } catch (const JsonMistake& mistake) {
    return json.error(mistake);
  }
}

Result<RecordOptions> RecordOptions::fromJson(const std::string& text) { return fromJson(text, {}); }

Result<RecordOptions> RecordOptions::fromFile(const std::filesystem::path& file, const RecordOptions& base) {
  const auto text = readFile(file, kLargestConfig);
  if (!text.ok()) return Error(ErrorCode::kUsage, text.error().message());
  auto options = fromJson(*text, base);
  return options.ok() ? options : options.error().in(file.string());
}

}  // namespace msdbg::dump

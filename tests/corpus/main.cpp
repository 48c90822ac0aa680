// check_corpus: records the cases and judges what check says of them.
//
//   check_corpus [--case GLOB] [--sample N [--seed S]] [--verbose] [--keep FOLDER]
//   check_corpus --prove [--case GLOB] [--sample N [--seed S]]   computes each recording again instead
//   check_corpus --list
//   check_corpus --train CASE    what is recorded: trains it, as any program of a user
//
// Exit status 1: not as it should be.
// A case fails when it is wrong and not in known_misses.txt, or right and in it. Of the whole corpus, the
// aims must be reached besides: every healthy case, kPlaces of the sick ones' places and kCauses of their
// causes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <variant>

#include "core_engine/base/text.h"
#include "tests/corpus/judge.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::corpus {
namespace {

namespace fs = std::filesystem;

constexpr double kPlaces = 0.85, kCauses = 0.7;  // of the sick cases

using Case = std::variant<HealthyCase, SickCase>;

std::string_view nameOf(const Case& tested) {
  return std::visit([](const auto& one) { return one.name; }, tested);
}
bool isSick(const Case& tested) { return std::holds_alternative<SickCase>(tested); }

std::vector<Case> allCases() {
  std::vector<Case> all;
  std::ranges::copy(healthyCases(), std::back_inserter(all));
  std::ranges::copy(sickCases(), std::back_inserter(all));
  return all;
}

using Misses = std::map<std::string, std::string, std::less<>>;

Misses knownMisses() {
  const fs::path file = test::sourceDir() / "tests/corpus/known_misses.txt";
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  Misses misses;
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with('#') || colon == std::string::npos) continue;
    misses[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return misses;
}

/// Trains it in a process of its own, recorded with the defaults of `msdbg dump`.
test::RunResult record(const Case& tested, const fs::path& run, const fs::path& program,
                       const std::vector<std::string>& how = {}) {
  const int ranks = std::visit([](const auto& one) { return one.ranks; }, tested);
  test::RunOptions options;
  options.folder = test::sourceDir();  // where the paths of source lines begin
  options.timeout = std::chrono::seconds(120);
  std::vector<std::string> words = {"dump", "-n", std::to_string(ranks), "--threads",
                                    "1",    "-o", run.string()};
  words.insert(words.end(), how.begin(), how.end());
  words.insert(words.end(), {"--", program.string(), "--train", std::string(nameOf(tested))});
  return test::runMsdbg(words, options);
}

struct Options {
  std::string cases = "*", train;
  fs::path keep;
  std::size_t sample = 0;
  std::uint64_t seed = 0;
  bool seeded = false, verbose = false, list = false, prove = false;
};

class Judged {
 public:
  Judged(const Options& options, fs::path program)
      : m_options(options), m_program(std::move(program)), m_misses(knownMisses()) {}

  void add(const Case& tested) {
    const std::string name(nameOf(tested));
    const fs::path run = (m_options.keep.empty() ? m_temporary.path() : m_options.keep) / (name + ".msdbg");
    fs::remove_all(run);
    const test::RunResult recorded = record(tested, run, m_program);
    try {
      Judgement judgement = std::visit([&](const auto& one) { return judge(one, run); }, tested);
      if (!isSick(tested) && recorded.exitStatus != 0)
        judgement.right = false, judgement.why = fmt::format("ended with {}", recorded.exitStatus);
      count(tested, judgement);
      print(tested, judgement);
      if (m_options.verbose) fmt::print("{}\n", test::runMsdbg({"check", run.string()}).out);
    } catch (const std::exception& error) {
      ++m_failures;
      fmt::print("FAIL  {:<40} {}\n{}{}\n", name, error.what(), recorded.out, recorded.err);
    }
    if (m_options.keep.empty()) fs::remove_all(run);
  }

  /// Whether all is as it should be; `whole`: the aims count.
  bool summary(bool whole) const {
    fmt::print(
        "\nhealthy {} of {} right; sick: {} of {} found ({} as a hint), place right {}, cause named {}\n",
        m_healthyRight, m_healthy, m_found, m_sick, m_hints, m_places, m_causes);
    bool good = m_failures == 0;
    if (m_failures > 0) fmt::print("{} cases are not as known_misses.txt says\n", m_failures);
    if (!whole) return good;
    const auto share = [&](int right) { return m_sick == 0 ? 1 : static_cast<double>(right) / m_sick; };
    const bool reached =
        m_healthyRight == m_healthy && share(m_places) >= kPlaces && share(m_causes) >= kCauses;
    fmt::print(
        "aims: every healthy one, {:.0f} % of places (now {:.0f} %), {:.0f} % of causes (now {:.0f} %): {}\n",
        100 * kPlaces, 100 * share(m_places), 100 * kCauses, 100 * share(m_causes),
        reached ? "reached" : "not reached");
    return good && reached;
  }

 private:
  void count(const Case& tested, const Judgement& judgement) {
    if (m_misses.contains(nameOf(tested)) == judgement.right) ++m_failures;
    if (!isSick(tested)) {
      ++m_healthy;
      m_healthyRight += judgement.right;
      return;
    }
    ++m_sick;
    m_found += judgement.found;
    m_hints += judgement.found && !judgement.said.fault;
    m_places += judgement.place;
    m_causes += judgement.cause;
  }

  void print(const Case& tested, const Judgement& judgement) const {
    const std::string name(nameOf(tested));
    const Said& said = judgement.said;
    const auto miss = m_misses.find(name);
    std::string verdict = judgement.right ? "right" : miss == m_misses.end() ? "WRONG" : "known";
    if (judgement.right && miss != m_misses.end()) verdict = "MENDED";
    fmt::print("{:<7}{:<8}{:<40} {}{} faults, {} hint lines; loss {:.4g} -> {:.4g} in {}\n", verdict,
               isSick(tested) ? "sick" : "healthy", name, judgement.why.empty() ? "" : judgement.why + "; ",
               said.faults, said.hintLines, said.firstLoss, said.lastLoss, said.iterations);
    if (judgement.found && (isSick(tested) || !judgement.right))
      fmt::print("       {}{}\n", said.fault ? "" : "(hint) ", said.headline);
    if (judgement.found && isSick(tested) && !judgement.cause) fmt::print("       says: {}\n", said.words);
    if (verdict == "MENDED") fmt::print("       take it out of tests/corpus/known_misses.txt\n");
    std::fflush(stdout);
  }

  const Options& m_options;
  fs::path m_program;
  Misses m_misses;
  test::TempDir m_temporary;
  int m_healthy = 0, m_healthyRight = 0, m_sick = 0, m_found = 0, m_hints = 0, m_places = 0, m_causes = 0;
  int m_failures = 0;
};

/// The first `count` of the cases shuffled; the same for the same seed.
std::vector<Case> drawn(std::vector<Case> cases, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = cases.size(); i > 1; --i) std::swap(cases[i - 1], cases[random() % i]);
  cases.resize(std::min(count, cases.size()));
  return cases;
}

int train(const std::string& name, int argc, char** argv) {
  for (const Case& tested : allCases()) {
    if (nameOf(tested) != name) continue;
    Session run(argc, argv);
    std::visit([&](const auto& one) { one.train(run); }, tested);
    return 0;
  }
  fmt::print(stderr, "check_corpus: there is no case {}\n", name);
  return 2;
}

/// Whether every iteration of all, computed again from what --policy record keeps, is as it was.
bool proveAll(const Options& options, const std::vector<Case>& cases, const fs::path& program) {
  const test::TempDir temporary;
  std::size_t equal = 0;
  for (const Case& tested : cases) {
    const std::string name(nameOf(tested));
    const fs::path run = (options.keep.empty() ? temporary.path() : options.keep) / (name + ".msdbg");
    fs::remove_all(run);
    record(tested, run, program, {"--policy", "record"});
    test::RunOptions patient;
    patient.timeout = std::chrono::seconds(120);
    const test::RunResult proof = test::runMsdbg({"replay", run.string(), "--prove"}, patient);
    // A rank that was killed within its first second left nothing behind.
    const bool nothing = proof.exitStatus == 4 && proof.out.find(": nothing of rank ") != std::string::npos;
    const bool good = proof.exitStatus == 0 || nothing;
    equal += good;
    fmt::print("{:<7}{:<40} {}\n",
               nothing ? "none"
               : good  ? "equal"
                       : "OTHER",
               name, good ? "" : "\n" + proof.out + proof.err);
    std::fflush(stdout);
    if (options.keep.empty()) fs::remove_all(run);
  }
  fmt::print("\n{} of {} are computed again to the bit\n", equal, cases.size());
  return equal == cases.size();
}

int judgeAll(const Options& options, const fs::path& program) {
  std::vector<Case> cases;
  for (const Case& tested : allCases())
    if (core::globMatch(options.cases, nameOf(tested))) cases.push_back(tested);
  if (cases.empty()) throw std::runtime_error("no case is named " + options.cases);
  const bool whole = options.cases == "*" && options.sample == 0;
  if (options.sample > 0) {
    const std::uint64_t seed = options.seeded ? options.seed : std::random_device()();
    fmt::print("{} of {} cases, --seed {}\n", std::min(options.sample, cases.size()), cases.size(), seed);
    cases = drawn(std::move(cases), options.sample, seed);
  }
  if (options.prove) return proveAll(options, cases, program) ? 0 : 1;
  Judged judged(options, program);
  for (const Case& tested : cases) judged.add(tested);
  return judged.summary(whole) ? 0 : 1;
}

void list() {
  for (const Case& tested : allCases())
    fmt::print("{:<8}{:<40} {} ranks\n", isSick(tested) ? "sick" : "healthy", nameOf(tested),
               std::visit([](const auto& one) { return one.ranks; }, tested));
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("records the cases of the corpus and judges what msdbg check says of them");
  app.add_option("--case", options.cases, "only these")->type_name("GLOB");
  app.add_option("--sample", options.sample, "so many, drawn")->type_name("N");
  const CLI::Option* seed = app.add_option("--seed", options.seed, "of the draw")->type_name("S");
  app.add_option("--keep", options.keep, "the recorded runs stay in this folder")->type_name("FOLDER");
  app.add_option("--train", options.train, "only train this case")->type_name("CASE");
  app.add_flag("--verbose", options.verbose, "what check says of each");
  app.add_flag("--list", options.list, "the cases");
  app.add_flag("--prove", options.prove, "computes what was recorded again, and compares, instead");
  app.allow_extras();
  CLI11_PARSE(app, argc, argv);
  options.seeded = seed->count() > 0;
  if (!options.train.empty()) return train(options.train, argc, argv);
  if (options.list) return list(), 0;
  if (!options.keep.empty()) {
    fs::create_directories(options.keep);
    options.keep = fs::absolute(options.keep);
  }
  return judgeAll(options, fs::read_symlink("/proc/self/exe"));
}

}  // namespace
}  // namespace msdbg::corpus

int main(int argc, char** argv) {
  const bool training = argc > 1 && std::string_view(argv[1]) == "--train";
  if (training)
    return msdbg::corpus::run(argc, argv);  // an exception ends it as it would end a user's program
  try {
    return msdbg::corpus::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "check_corpus: {}\n", error.what());
    return 1;
  }
}

#include "replay/verdict.h"

#include <catch2/catch.hpp>

using namespace msdbg;
using replay::RunState;

namespace {

RunState ended(const std::string& how, std::optional<std::int64_t> at = {}) {
  RunState state;
  state.end.state = how;
  state.end.iteration = at;
  state.lastIteration = 4119;
  state.segments = 60;
  return state;
}

RunState recording() {
  RunState state = ended("running");
  state.recording = true;
  return state;
}

RunState damaged(RunState state, int segments) {
  for (int i = 0; i < segments; ++i)
    state.damage.push_back({"rank_1/segment_00000" + std::to_string(i) + ".h5",
                            "H5Fopen failed (HDF5: file signature not found)",
                            core::Rank(1),
                            {10 * i, 10 * i + 1}});
  return state;
}

RunState gapped(RunState state, std::initializer_list<std::int64_t> iterations, int rank = 0) {
  state.gaps.push_back({core::Rank(rank), iterations, "cannot write x: No space left on device", 0, 0});
  return state;
}

watch::CheckReport clean() {
  watch::CheckReport report;
  report.evaluated = 100;
  return report;
}

watch::CheckReport wrongIn(std::int64_t iteration) {
  watch::CheckReport report = clean();
  report.first = watch::Hit();
  report.first->iteration = core::Iteration(iteration);
  return report;
}

watch::NotEvaluable notAsked(const std::string& reason, std::int64_t count) {
  watch::NotEvaluable places;
  places.condition = "dead_relu";
  places.reason = reason;
  places.count = count;
  return places;
}

}  // namespace

TEST_CASE("What was found, what could not be read and how the run ended are said together") {
  const auto text = [](const RunState& state) { return replay::verdictOf(clean(), state).text(); };
  CHECK(text(ended("finished")) == "no fault found; the run is complete");
  CHECK(text(ended("stopped", 12)) == "no fault found; the run was stopped at iteration 12");
  CHECK(text(ended("killed", 4120)) ==
        "no fault found in what was recorded; the run was killed at iteration 4,120");
  CHECK(text(ended("failed")) == "no fault found in what was recorded; the run failed after iteration 4,119");
  CHECK(text(ended("running")) ==
        "no fault found in what was recorded; the run broke off after iteration 4,119 without saying how");
  CHECK(text(recording()) == "no fault found so far; the run is being recorded and is past iteration 4,119");
  CHECK(text(damaged(ended("killed", 4120), 3)) ==
        "no fault found in what could be read; 3 of 60 segments are damaged; the run was killed at iteration "
        "4,120");
  CHECK(text(damaged(ended("finished"), 1)) ==
        "no fault found in what could be read; 1 of 60 segments is damaged; the run is complete");
}

TEST_CASE("A loss that is no number is no good news, whatever was asked") {
  const auto of = [](double loss) { return replay::verdictOf(clean(), ended("finished"), loss); };
  CHECK(of(0.5).text() == "no fault found; the run is complete");
  const replay::Verdict nan = of(std::numeric_limits<double>::quiet_NaN());
  CHECK(nan.text() ==
        "the loss ends as nan, and what was asked does not show where that began; the run is complete");
  CHECK(nan.kind == replay::Verdict::Kind::kNoAnswer);
  CHECK_FALSE(nan.whole);
  CHECK(of(-std::numeric_limits<double>::quiet_NaN()).text().starts_with("the loss ends as nan, "));
  CHECK(of(-std::numeric_limits<double>::infinity()).text().starts_with("the loss ends as -inf"));
  CHECK(replay::verdictOf(wrongIn(3), ended("finished"), std::nan("")).found == "FIRST WRONG");
}

TEST_CASE("What the recorder had to give up is said with the verdict") {
  const RunState some = gapped(ended("finished"), {127, 128, 129});
  CHECK(replay::verdictOf(clean(), some).text() ==
        "no fault found in what was recorded; iterations 127-129 of rank 0 were not recorded; the run is "
        "complete");
  CHECK_FALSE(replay::verdictOf(clean(), some).whole);
  CHECK(replay::verdictOf(wrongIn(126), some).found == "FIRST WRONG");
  CHECK(replay::verdictOf(wrongIn(130), some).found == "FIRST WRONG of what was recorded");
  CHECK(replay::gapSentence(gapped(some, {5, 9}, 1)) == "5 iterations of 2 ranks were not recorded");
  CHECK(replay::gapSentence(gapped(some, {7})) == "4 iterations of rank 0 were not recorded");
  CHECK(replay::gapText(gapped(RunState(), {7}).gaps[0]) ==
        "iteration 7 of rank 0 was not recorded (cannot write x: No space left on device)");
  CHECK(replay::verdictOf(clean(), damaged(some, 1)).unread ==
        "1 of 60 segments is damaged; iterations 127-129 of rank 0 were not recorded");
}

TEST_CASE("What is worth a look stands beside the good news") {
  watch::ConditionDef leak, loss;
  leak.title = "The answer is seen";
  loss.title = "Loss not decreasing";
  watch::CheckReport report = clean();
  const auto hint = [&](const watch::ConditionDef& condition) {
    watch::Hit hit;
    hit.condition = &condition;
    report.hints.push_back(hit);
    return replay::verdictOf(report, ended("finished")).text();
  };
  CHECK(hint(leak) == "no fault found; worth a look: The answer is seen; the run is complete");
  CHECK(hint(leak) == "no fault found; worth a look: The answer is seen; the run is complete");
  CHECK(hint(loss) == "no fault found; worth a look: The answer is seen, and 1 more; the run is complete");
  watch::ConditionDef spike;
  spike.id = "statistic_spike";
  spike.title = "Spike";
  watch::Hit hit;
  hit.condition = &spike;
  report.hints.insert(report.hints.begin(), hit);  // earlier, and less
  CHECK(replay::verdictOf(report, ended("finished")).hints == "The answer is seen, and 2 more");
  report.first = report.hints.front();
  CHECK(replay::verdictOf(report, ended("finished")).text() == "FIRST WRONG; the run is complete");
}

TEST_CASE("Only a run that ended well and was read in whole is whole") {
  const auto whole = [](const RunState& state) { return replay::verdictOf(clean(), state).whole; };
  CHECK(whole(ended("finished")));
  CHECK(whole(ended("stopped")));
  for (const RunState& state :
       {ended("killed"), ended("failed"), ended("running"), recording(), damaged(ended("finished"), 1)})
    CHECK_FALSE(whole(state));
}

TEST_CASE("The first fault is the first of what could be read where an earlier one may be lost") {
  const auto found = [](std::int64_t at, const RunState& state) {
    return replay::verdictOf(wrongIn(at), state).found;
  };
  const RunState later = damaged(ended("finished"), 3);  // iterations 0, 1, 10, 11, 20 and 21
  CHECK(found(7, ended("killed")) == "FIRST WRONG");
  CHECK(found(7, later) == "FIRST WRONG of what could be read");
  RunState after = ended("finished");
  after.damage = {{"rank_1/segment_000008.h5", "the file is missing", core::Rank(1), {8}}};
  CHECK(found(7, after) == "FIRST WRONG");
  CHECK(found(8, after) == "FIRST WRONG of what could be read");
  after.damage = {{"rank_1/journal", "line 3 does not match its check", core::Rank(1), {}}};
  CHECK(found(7, after) == "FIRST WRONG of what could be read");
}

TEST_CASE("What is mostly missing is no good news, and says whether it is lost or was never recorded") {
  watch::CheckReport report = clean();
  report.notEvaluable.push_back(notAsked("no_value", 101));
  const auto verdict = [&] { return replay::verdictOf(report, damaged(ended("finished"), 2)); };
  CHECK(verdict().kind == replay::Verdict::Kind::kNoAnswer);
  CHECK_FALSE(verdict().whole);
  CHECK(verdict().found == "no fault found, but most of what was asked is not recorded");
  RunState hashesOnly = ended("finished");  // of PyTorch, --policy record
  hashesOnly.hasStatistics = false;
  const replay::Verdict ofHashes = replay::verdictOf(clean(), hashesOnly, {});
  CHECK(ofHashes.found == "no fault found, but most of what was asked is not recorded");
  CHECK_FALSE(ofHashes.whole);
  report.notEvaluable.push_back(notAsked("damaged", 102));
  CHECK(verdict().found == "no fault found, but most of what was asked is damaged");
  report.evaluated = 0;
  CHECK(verdict().found == "nothing could be judged: dead_relu: the file is damaged");
}

TEST_CASE("Damage is named by file, with what it costs; the words of libraries are details") {
  const std::string segment = "rank_0/segment_000003.h5";
  const auto files = replay::damagedFiles(
      {{segment + ": /tensor/x:0", "chunk 4 does not match its hash", core::Rank(0), {31}},
       {"run.json", "does not match its check", core::Rank(), {}},
       {segment, "H5Fopen failed", core::Rank(0), {30, 31, 32}},
       {"rank_1/segment_000001.h5", "the file is missing", core::Rank(1), {7}},
       {"rank_3", "of 4 ranks, this one's folder is missing", core::Rank(3), {}}});
  REQUIRE(files.size() == 4);
  CHECK(replay::damageText(files[0]) == segment + " is damaged: iterations 30-32 of rank 0 are left out");
  CHECK(files[0].details ==
        std::vector<std::string>{"/tensor/x:0: chunk 4 does not match its hash", "H5Fopen failed"});
  CHECK(replay::damageText(files[1]) == "run.json is damaged");
  CHECK(replay::damageText(files[2]) ==
        "rank_1/segment_000001.h5 is missing: iteration 7 of rank 1 is left out");
  CHECK(replay::damageText(files[3]) == "rank_3 is missing");
  const std::vector<replay::Damage> part = {
      {segment + ": /tensor/x:0", "chunk 4 does not match its hash", core::Rank(0), {31}}};
  CHECK(replay::damageText(replay::damageAt(part, core::Rank(0), core::Iteration(31)).value()) ==
        segment + " is damaged: iteration 31 of rank 0 cannot be read in whole");
  CHECK_FALSE(replay::damageAt(part, core::Rank(1), core::Iteration(31)));
  CHECK_FALSE(replay::damageAt(part, core::Rank(0), core::Iteration(30)));
}

TEST_CASE("Whole ranks, segments and other files that are damaged are counted apart") {
  RunState state = damaged(ended("finished"), 2);
  state.ranks = 4;
  state.damage.push_back({"rank_3", "its folder is missing", core::Rank(3), {}});
  state.damage.push_back({"run.json", "does not match its check", core::Rank(), {}});
  CHECK(replay::damageSentence(state) ==
        "1 of 4 ranks is missing, 2 of 60 segments are damaged, run.json is damaged");
  state.damage.push_back({"rank_1/journal", "line 3 does not match its check", core::Rank(1), {}});
  CHECK(replay::damageSentence(state) ==
        "1 of 4 ranks is missing, 2 of 60 segments are damaged, 2 other files are damaged");
}

// Which rule decides about a tensor: every filter, their order, and the text form.
#include "dump/policy/rules.h"

#include <catch2/catch.hpp>

#include "core_engine/base/text.h"
#include "dump/policy/decisions.h"
#include "dump/policy/rule_doubts.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
using namespace msdbg::dump;

namespace {

using Texts = std::vector<std::string>;

/// The full names that a rule fits, of smallGraph().
Texts fitting(const std::string& rule) {
  const core::Graph graph = test::smallGraph();
  const auto matcher = RuleMatcher::make(parseRule(rule).orThrow());
  Texts names;
  for (const core::TensorInfo& tensor : graph.tensors())
    if (matcher->fits(graph, tensor)) names.push_back(tensor.fullName());
  return names;
}

RecordOptions optionsWith(const Texts& rules) {
  RecordOptions options;
  for (const std::string& rule : rules) options.rules.push_back(parseRule(rule).orThrow());
  return options;
}

/// What is kept of a tensor: 'f', 's' or '-' for each of the iterations 0-11.
std::string kept(const RecordOptions& options, const std::string& name, std::int64_t rank = 0) {
  const core::Graph graph = test::smallGraph();
  const auto decisions = Decisions::make(graph, options, core::Rank(rank));
  std::string text;
  for (std::int64_t i = 0; i < 12; ++i)
    text += "-rgsf"[static_cast<int>(decisions->decide(test::tensorNamed(graph, name), core::Iteration(i)))];
  return text;
}

std::string onlyShadowed(const RecordOptions& options, const PlannedRun& run) {
  const core::Graph graph = test::smallGraph();
  const auto size = expectedSize(graph, options, run.ranks, run.steps.value(), {}, run.first);
  const Texts shadowed = shadowedRules(graph, options, run, *size).orThrow();
  CHECK(shadowed.size() <= 1);
  return shadowed.empty() ? "none" : shadowed.front();
}

std::string mistake(const std::string& rule) {
  const auto parsed = parseRule(rule);
  if (parsed.ok()) return "none";
  CHECK(parsed.error().code() == core::ErrorCode::kUsage);
  return parsed.error().message();
}

/// What of it means nothing in the graph.
Texts mistakes(const std::string& rule, const core::Graph& graph) {
  Texts texts;
  for (const core::Error& error : ruleMistakes(parseRule(rule).orThrow(), graph))
    texts.push_back(error.message());
  return texts;
}

core::Graph twoWeights() {
  core::Graph graph("network");
  for (const char* name : {"network/a/weight", "network/b/weight"}) {
    core::TensorInfo info;
    info.name = name;
    info.shape = {2};
    graph.addSource(info);
  }
  return graph;
}

}  // namespace

TEST_CASE("A rule selects by globs on name, name with slot and alias") {
  CHECK(fitting("*weight*=full") == Texts{"network/a/weight:0", "update/network/a/Update-op1:0"});
  CHECK(fitting("network/Mask-op1=full") == Texts{"network/Mask-op1:0"});  // a bare name means slot 0
  CHECK(fitting("network/Mask-op1*=full") == Texts{"network/Mask-op1:0", "network/Mask-op1:1"});
  CHECK(fitting("next(*)=full") == Texts{"update/network/a/Update-op1:0"});
  CHECK(fitting("network/x,network/wide=full") == Texts{"network/x:0", "network/wide:0"});
  CHECK(fitting("nothing=full").empty());
  CHECK(fitting("*=full").size() == test::smallGraph().tensors().size());
}

TEST_CASE("In a graph a rule's name may be the end of one name, as in every other command") {
  const core::Graph graph = test::smallGraph();
  const auto full = [&](const std::string& rule) {
    return core::join(withFullNames(parseRule(rule).orThrow(), graph).tensors, ",");
  };
  CHECK(full("a/weight=full") == "network/a/weight:0");
  CHECK(full("Mask-op1:1=full") == "network/Mask-op1:1");
  CHECK(full("next(a/weight)=full") == "update/network/a/Update-op1:0");
  CHECK(full("network/a/weight,*weight,eight=full") == "network/a/weight:0,*weight,eight");
  CHECK(kept(optionsWith({"a/weight=full", "*=none"}), "network/a/weight:0") == "ffffffffffff");
  CHECK(kept(optionsWith({"a/weight=full", "*=none"}), "update/network/a/Update-op1:0") == "------------");
  CHECK(mistakes("a/weight=full", graph).empty());
  CHECK(tensorsMeant("eight", graph).error().code() == core::ErrorCode::kNotFound);

  const core::Graph two = twoWeights();
  CHECK(tensorsMeant("weight", two).error().code() == core::ErrorCode::kUsage);
  CHECK_THAT(tensorsMeant("weight", two).error().message(),
             Catch::Contains("'weight' may mean network/a/weight:0, network/b/weight:0"));
  CHECK(withFullNames(parseRule("weight=full").orThrow(), two).tensors == Texts{"weight"});
}

TEST_CASE("A rule selects by regular expression, found anywhere in a name or alias") {
  CHECK(fitting("*=full,regex=weight") == Texts{"network/a/weight:0", "update/network/a/Update-op1:0"});
  CHECK(fitting("*=full,regex=^network/a/(Relu|weight)") ==
        Texts{"network/a/weight:0", "network/a/Relu-op1:0"});
  CHECK(fitting("*=full,regex=Mask-op1:1$") == Texts{"network/Mask-op1:1"});
  CHECK(fitting("*=full,regex=op{1,2}1:[=,1]") == Texts{"network/Mask-op1:1"});  // commas and = are its own
}

TEST_CASE("A rule selects by operator type: what such nodes compute, never a source") {
  CHECK(fitting("*=full,op=Relu") == Texts{"network/a/Relu-op1:0"});
  CHECK(fitting("*=full,op=Relu,Tanh") == Texts{"network/a/Relu-op1:0", "network/Tanh-op1:0"});
  CHECK(fitting("*=full,op=M*") == Texts{"network/Mask-op1:0", "network/Mask-op1:1"});
  CHECK(fitting("network/x=full,op=*").empty());
}

TEST_CASE("A rule selects by kind: weight, gradient, activation, input, loss and the graph's other roles") {
  CHECK(fitting("*=full,kind=weight") == Texts{"network/a/weight:0"});
  CHECK(fitting("*=full,kind=parameter") == fitting("*=full,kind=weight"));
  CHECK(fitting("*=full,kind=input,label") == Texts{"network/x:0", "network/label:0"});
  CHECK(fitting("*=full,kind=loss") == Texts{"network/Loss-op1:0"});
  CHECK(fitting("*=full,kind=updated") == Texts{"update/network/a/Update-op1:0"});
  CHECK(fitting("*=full,kind=constant") == Texts{"network/wide:0", "network/bytes:0"});
  CHECK(fitting("*=full,kind=activation").size() == 5);
  for (const char* none : {"gradient", "optimizer_state", "hyperparameter"})
    CHECK(fitting("*=full,kind=" + std::string(none)).empty());
}

TEST_CASE("A rule selects by dtype, and all its filters have to fit") {
  CHECK(fitting("*=full,dtype=float64") == Texts{"network/wide:0"});
  CHECK(fitting("*=full,dtype=uint8,bool") == Texts{"network/bytes:0", "network/Mask-op1:0"});
  CHECK(fitting("*Mask*=full,dtype=bool,int32,kind=activation,op=Mask,regex=:1") ==
        Texts{"network/Mask-op1:1"});
  CHECK(fitting("*Mask*=full,dtype=float32").empty());
}

TEST_CASE("The first rule that fits decides; what no rule fits has statistics") {
  const RecordOptions options =
      optionsWith({"*=none,dtype=uint8", "network/*=full,kind=constant", "*Relu*=none"});
  CHECK(kept(options, "network/bytes:0") == "------------");
  CHECK(kept(options, "network/wide:0") == "ffffffffffff");
  CHECK(kept(options, "network/a/Relu-op1") == "------------");
  CHECK(kept(options, "network/x:0") == "ssssssssssss");
}

TEST_CASE("A rule for some iterations leaves the others to the rules behind it") {
  const RecordOptions options = optionsWith(
      {"*weight=full,every=4", "*weight=none,iterations=1-2,9-", "*x=full,every=2,iterations=3-8"});
  CHECK(kept(options, "network/a/weight:0") == "f--sfsssf---");
  CHECK(kept(options, "network/x:0") == "ssssfsfsfsss");
}

TEST_CASE("A rule for some ranks leaves the others to the rules behind it") {
  const RecordOptions options = optionsWith({"*weight=full,ranks=0,2-3", "*weight=none,ranks=4-,every=2"});
  for (const std::int64_t rank : {0, 2, 3})
    CHECK(kept(options, "network/a/weight:0", rank) == "ffffffffffff");
  CHECK(kept(options, "network/a/weight:0", 1) == "ssssssssssss");
  CHECK(kept(options, "network/a/weight:0", 7) == "-s-s-s-s-s-s");
}

TEST_CASE("Policy and tensors say what happens to the rest; without rules they mean what they always did") {
  RecordOptions options;
  CHECK(kept(options, "network/x:0") == "ffffffffffff");
  options.tensors = {"*weight"};
  CHECK(kept(options, "network/x:0") == "ssssssssssss");
  CHECK(kept(options, "network/a/weight:0") == "ffffffffffff");
  options.policy = Policy::kStats;
  CHECK(kept(options, "network/a/weight:0") == "ssssssssssss");
  options = optionsWith({"*weight=stats,every=2"});
  options.tensors = {"*weight"};
  CHECK(kept(options, "network/a/weight:0") == "sfsfsfsfsfsf");
  options.policy = Policy::kNone;
  CHECK(kept(options, "network/a/weight:0") == "s-s-s-s-s-s-");
  CHECK(kept(options, "network/x:0") == "------------");
  options.policy = Policy::kFull;
  options.tensors.clear();
  CHECK(kept(options, "network/x:0") == "ffffffffffff");
}

TEST_CASE("A rule's text is read back, and says no more than it has to") {
  for (const std::string text :
       {"*=full", "grad(*)=full,every=10", "a,b*=none,kind=weight,optimizer_state,ranks=0",
        "*=stats,op=Conv*,Gemm,dtype=float32,iterations=0,2-4,100-,ranks=0-3,8-",
        "*=full,regex=a=b,(c|d),e=f"}) {
    CAPTURE(text);
    CHECK(ruleText(parseRule(text).orThrow()) == text);
  }
  CHECK(ruleText(parseRule("*=full,every=1,iterations=0-,kind=parameter").orThrow()) == "*=full,kind=weight");
}

TEST_CASE("A mistake in a rule names the part that is wrong and what there is instead") {
  using Catch::Contains;
  CHECK_THAT(mistake("grad(*)"), Contains("'grad(*)'") && Contains("GLOB=full|stats|flags|record|none"));
  CHECK_THAT(mistake("=full"), Contains("GLOB=full|stats|flags|record|none"));
  CHECK_THAT(mistake("a=ful"), Contains("policy: 'ful'") && Contains("full, stats, flags, record, none"));
  CHECK_THAT(mistake("a=full,evry=10"), Contains("'evry' is no key") && Contains("every"));
  CHECK_THAT(mistake("a=full,zzz=10"), Contains("there are tensors, policy, kind"));
  CHECK_THAT(mistake("a=full,tensors=b"), Contains("tensors is said in front already"));
  CHECK_THAT(mistake("a=full,10"), Contains("'10' is no KEY=VALUE"));
  CHECK_THAT(mistake("a=full,every=0"), Contains("every: '0'") && Contains("from 1"));
  CHECK_THAT(mistake("a=full,every=2.5"), Contains("'2.5'"));
  CHECK_THAT(mistake("a=full,every=1,2"), Contains("one value"));
  CHECK_THAT(mistake("a=full,every="), Contains("every"));
  CHECK_THAT(mistake("a=full,every=2,every=3"), Contains("the key every is given twice"));
  CHECK_THAT(mistake("a=full,kind=loss,op=Relu,kind=weight"), Contains("the key kind is given twice"));
  CHECK_THAT(mistake("a=full,kind=wieght"), Contains("'wieght' is no kind") && Contains("weight"));
  CHECK_THAT(mistake("a=full,dtype=float"), Contains("'float' is no dtype") && Contains("float32"));
  CHECK_THAT(mistake("a=full,iterations=5-2"), Contains("iterations"));
  CHECK_THAT(mistake("a=full,ranks=x"), Contains("ranks"));
  CHECK_THAT(mistake("a=full,regex=(x"), Contains("regex: '(x' is no regular expression"));
  CHECK_THAT(mistake("a=full,regex=" + std::string(5000, '(')), Contains("longer than"));
}

TEST_CASE("Every part of a rule that means nothing in the graph is found") {
  const core::Graph graph = test::smallGraph();
  CHECK(mistakes("*weight=full", graph).empty());
  CHECK(mistakes("*=none,op=R*", graph).empty());
  CHECK(mistakes("fc9*=full", graph) ==
        Texts{"no tensor of the model is named 'fc9*'; globs match whole names, such as '*conv1*'"});
  CHECK(mistakes("*weight,network/wied,b/*=full,op=relu", graph) ==
        Texts{"no tensor of the model is named 'network/wied'; did you mean network/wide, "
              "network/x or network/label?",
              "no tensor of the model is named 'b/*'; globs match whole names, such as '*conv1*'",
              "no operator of the model is of the type 'relu'; did you mean Relu?"});
  REQUIRE(mistakes("*=none,kind=gradient", graph).size() == 1);
  CHECK_THAT(mistakes("*=none,kind=gradient", graph)[0],
             Catch::Contains("all its filters together fit no tensor"));
}

TEST_CASE("A name that may mean several tensors is told, beside others that mean one too") {
  const core::Graph two = twoWeights();
  const std::string why = "'weight' may mean network/a/weight:0, network/b/weight:0; give more of the name";
  CHECK(mistakes("weight=full", two) == Texts{why});
  CHECK(mistakes("a/weight,weight=full", two) == Texts{why});
}

TEST_CASE("A rule for ranks or iterations that the run does not have is doubted") {
  RecordOptions options =
      optionsWith({"*=full,ranks=7", "*=full,iterations=50-", "*=full,every=4", "*=none"});
  CHECK(
      planDoubts(options, {2, 0, 3}) ==
      Texts{"the recording rule *=full,ranks=7 decides nothing in this run: there are ranks 0-1",
            "the recording rule *=full,iterations=50- decides nothing in this run: of iterations 0-2 it fits "
            "none that is recorded"});
  CHECK(planDoubts(options, {8, 49, 2}).size() == 1);  // every=4: neither 49 nor 50
  CHECK(planDoubts(options, {8, 0, {}}).empty());
  options = optionsWith({"*=full,every=9223372036854775807,iterations=1-"});
  options.every = 9223372036854775806;
  CHECK(planDoubts(options, {1, 0, {}}).size() == 1);
}

TEST_CASE("A run in which nothing would be recorded is doubted once, whatever its rules") {
  RecordOptions options = optionsWith({"*=full,ranks=7"});
  options.iterations = *core::IndexList::parse("7");
  options.every = 2;
  CHECK(planDoubts(options, {1, 0, 20}) ==
        Texts{"nothing will be recorded: of iterations 0-19 none is in --iterations 7 and divisible by "
              "--every 2"});
  options.every = 7;
  CHECK(planDoubts(options, {8, 0, 20}).empty());
  CHECK(planDoubts(options, {8, 0, 7}).size() == 1);
}

TEST_CASE("A row of batches with holes is doubted where it is to be computed again") {
  RecordOptions options;
  options.policy = Policy::kRecord;
  CHECK(planDoubts(options, {}).empty());
  options.every = 3;
  REQUIRE(planDoubts(options, {}).size() == 1);
  CHECK_THAT(planDoubts(options, {})[0], Catch::Contains("batches of every 3 iterations only") &&
                                             Catch::Contains("--record '*=record,every=3' --batches"));
  options.batches = false;
  CHECK(planDoubts(options, {}).empty());
  options = optionsWith({"*=record,every=3"});
  options.batches = true;
  options.checkpointEvery = 4;
  CHECK(planDoubts(options, {}).empty());
}

TEST_CASE("Tensors of which no value would be kept are doubted") {
  RecordOptions options;
  options.tensors = {"a", "b*"};
  CHECK(planDoubts(options, {}).empty());
  options.policy = Policy::kStats;
  CHECK(planDoubts(options, {}) == Texts{"tensors (a, b*) chooses nothing: what no rule fits has no values "
                                         "(policy stats)"});
}

TEST_CASE("A rule that those before it leave nothing to decide is found, and they are named") {
  const PlannedRun run{2, 0, 12};
  CHECK(onlyShadowed(optionsWith({"*=stats", "*weight=full"}), run) ==
        "the recording rule *weight=full decides nothing in this run: *=stats stands before it and fits all "
        "that it fits");
  const std::string both = onlyShadowed(
      optionsWith({"*weight=full,ranks=0", "next(*)=none", "*weight=none,ranks=1", "*/weight=full"}), run);
  CHECK(both ==
        "the recording rule */weight=full decides nothing in this run: *weight=full,ranks=0 and "
        "*weight=none,ranks=1 stand before it and fit all that it fits");
  CHECK(onlyShadowed(optionsWith({"*=stats,every=2", "*weight=full"}), run) == "none");
  CHECK(onlyShadowed(optionsWith({"*=stats", "fc9*=full"}), run) == "none");  // it fits no tensor
  CHECK(onlyShadowed(optionsWith({"*=stats", "*=full,ranks=7"}), run) == "none");
  RecordOptions options = optionsWith({"*=none"});
  options.tensors = {"*weight"};
  CHECK_THAT(onlyShadowed(options, run), Catch::Contains("rule *weight=full decides nothing"));
}

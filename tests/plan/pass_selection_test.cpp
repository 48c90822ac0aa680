#include "core_engine/plan/pass_selection.h"

#include <catch2/catch.hpp>

#include "core_engine/plan/pipeline.h"

using namespace msdbg::core;

namespace {

/// The names that are on, in the order of the pipeline.
std::string onIn(const std::string& text) {
  const auto selection = PassSelection::parse(text);
  if (!selection.ok()) return selection.error().message();
  std::string on;
  for (const PlanPass& pass : planPasses())
    if (selection->on(pass.name)) on += (on.empty() ? "" : " ") + std::string(pass.name);
  return on;
}

constexpr const char* kAll =
    "identities common_subexpressions dead_nodes constant_folding recomputation layout groups in_place "
    "memory";

}  // namespace

TEST_CASE("Passes are chosen by names with signs, by names alone, or all or none") {
  CHECK(onIn("") == kAll);
  CHECK(onIn("all") == kAll);
  CHECK(onIn("none") == "");
  CHECK(onIn("-memory") ==
        "identities common_subexpressions dead_nodes constant_folding recomputation layout groups in_place");
  CHECK(onIn("-memory,-identities") ==
        "common_subexpressions dead_nodes constant_folding recomputation layout groups in_place");
  CHECK(onIn("+memory,-dead_nodes") ==
        "identities common_subexpressions constant_folding recomputation layout groups in_place memory");
  CHECK(onIn("-memory,+memory") == kAll);
  CHECK(onIn("memory,identities") == "identities memory");
}

TEST_CASE("A selection of passes is written so that it reads back as itself") {
  for (const char* text : {"", "none", "-memory", "memory,identities", "-dead_nodes,-constant_folding"}) {
    const PassSelection selection = PassSelection::parse(text).orThrow();
    CHECK(onIn(selection.text()) == onIn(text));
  }
  CHECK(PassSelection::parse("-memory,-identities").orThrow().text() == "-identities,-memory");
  CHECK(PassSelection::parse("+memory").orThrow().text() == "");
}

TEST_CASE("An unknown pass is answered with the nearest one, and mixed lists are refused") {
  CHECK(onIn("-memry") == "there is no pass 'memry'; did you mean memory?");
  CHECK_THAT(onIn("memory,"), Catch::StartsWith("there is no pass ''"));
  CHECK_THAT(onIn("memory,-identities"), Catch::Contains("mixes names with and without a sign"));
  CHECK(PassSelection::parse("xyzzy").error().code() == ErrorCode::kUsage);
}

#include "app/gui/command_line.h"

#include <catch2/catch.hpp>

namespace msdbg::test {
namespace {

std::string errorOf(QStringList arguments) {
  const auto options = app::parseWindowOptions(QStringList("msdbg-gui") + arguments);
  return options.ok() ? "" : options.error().message();
}

}  // namespace

TEST_CASE("The window's command line gives run, place, size, theme and picture", "[gui]") {
  const auto options = app::parseWindowOptions({"msdbg-gui", "a.msdbg", "--node", "alexnet.cpp:25",
                                                "--iteration", "7", "--rank", "1", "--size", "2560x1440",
                                                "--theme", "dark", "--screenshot", "p.png"});
  REQUIRE(options.ok());
  CHECK(options->run == "a.msdbg");
  CHECK(options->start().node == "alexnet.cpp:25");
  CHECK(options->start().iteration == 7);
  CHECK(options->start().rank == 1);
  CHECK(options->size == QSize(2560, 1440));
  CHECK(options->theme == app::Theme::kDark);
  CHECK(options->screenshot == "p.png");
}

TEST_CASE("Without arguments the window starts empty, as the desktop is", "[gui]") {
  const auto options = app::parseWindowOptions({"msdbg-gui"});
  REQUIRE(options.ok());
  CHECK(options->run.isEmpty());
  CHECK_FALSE(options->start().any());
  CHECK(options->theme == app::Theme::kAuto);
  CHECK(options->size.isEmpty());
}

TEST_CASE("Mistakes on the window's command line say what is allowed", "[gui]") {
  CHECK_THAT(errorOf({"a", "b"}), Catch::Contains("one run at a time"));
  CHECK_THAT(errorOf({"a", "--screenshot", ""}), Catch::Contains("which file"));
  CHECK_THAT(errorOf({"a", "--size", "10x10"}), Catch::Contains("from 320 to 10000"));
  CHECK_THAT(errorOf({"a", "--size", "wide"}), Catch::Contains("WIDTHxHEIGHT"));
  CHECK_THAT(errorOf({"a", "--theme", "blue"}), Catch::Contains("light, dark or auto"));
  CHECK_THAT(errorOf({"a", "--iteration", "-1"}), Catch::Contains("--iteration"));
  CHECK_THAT(errorOf({"--node", "x"}), Catch::Contains("need a RUN"));
  CHECK_THAT(errorOf({"--step", "7"}), Catch::Contains("need a RUN"));
  CHECK_THAT(errorOf({"a", "--step", "7", "--iteration", "7"}), Catch::Contains("give one of them"));
  CHECK_THAT(errorOf({"a", "--panel", "graph"}), Catch::Contains("--screenshot"));
  CHECK_THAT(errorOf({"a", "--panel", "nothing", "--screenshot", "p.png"}),
             Catch::Contains("no panel 'nothing'"));
  CHECK_THAT(errorOf({"--nonsense"}), Catch::Contains("nonsense") && Catch::Contains("--help"));
}

}  // namespace msdbg::test

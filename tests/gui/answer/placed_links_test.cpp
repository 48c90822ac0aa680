#include "app/presenters/answer/placed_links.h"

#include <QElapsedTimer>
#include <catch2/catch.hpp>

#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"

namespace msdbg::app {
namespace {

const QString kText = QStringLiteral(
    "iteration 4, rank 1\n"
    "   0  network/conv2/Conv-op1[0, 3, 1, 1] = nan   lenet5.cpp:20   x = relu(conv(x))\n"
    "        as the update of iteration 3 made it\n"
    "\n"
    "  network/fc1/weight   iteration 2, rank 0   network/fc9/weight\n"
    "WHY: network/conv1/weight\n");

QString said(const PlacedLink& link) { return kText.mid(link.link.start, link.link.length); }

}  // namespace

TEST_CASE("Names in a command's text know the iteration and rank of their line, or of the heading") {
  const auto document = test::openDocument(test::nanRun());
  const std::vector<PlacedLink> links = placedLinks(kText, document->graph());
  QStringList words;
  for (const PlacedLink& link : links) words << said(link);
  CHECK(words == QStringList{"iteration 4", "rank 1", "network/conv2/Conv-op1", "lenet5.cpp:20",
                             "iteration 3", "network/fc1/weight", "iteration 2", "rank 0",
                             "network/conv1/weight"});
  CHECK(links[2].iteration == core::Iteration(4));
  CHECK(links[2].rank == core::Rank(1));
  CHECK(links[5].iteration == core::Iteration(2));
  CHECK(links[5].rank == core::Rank(0));
  CHECK_FALSE(links[8].iteration);
}

TEST_CASE("The way of an answer is what its steps are about, not what they name beside") {
  const auto document = test::openDocument(test::nanRun());
  const core::Graph& graph = document->graph();
  const auto names = [&](const char* text) {
    std::vector<std::string> all;
    for (const core::NodeId node : wayOf(placedLinks(QString::fromLatin1(text), graph), graph))
      all.push_back(graph.node(node).name);
    return all;
  };
  using Names = std::vector<std::string>;
  CHECK(names("iteration 4, rank 1\n"
              "   0  network/conv2/Conv-op1[0, 3] = nan   lenet5.cpp:20   x = relu(conv(x))\n"
              "        by statistics: input 0 (network/conv2/Relu-op1) holds 3 NaN\n"
              "   1  network/conv2/weight\n"  // no node makes it in this iteration
              "        parameter, as the update of iteration 3 made it\n"
              "iteration 3, rank 1\n"
              "  12  network/conv1/Conv-op1:0 = 1\n"
              "  13  network/conv2/Conv-op1\n"
              "\n"
              "WHY: network/conv1/MaxPool-op1 (lenet5.cpp:20)\n") ==
        Names{"network/conv2/Conv-op1", "network/conv1/Conv-op1"});
  CHECK(names("  network/conv2/Conv-op1   4  network/conv1/Conv-op1\n").empty());
  CHECK(names("").empty());
}

TEST_CASE("A heading that says the program's own number of the step is one") {
  const auto document = test::openDocument(test::nanRun());
  const std::vector<PlacedLink> links =
      placedLinks(QStringLiteral("iteration 4 (step 41004), rank 1\n   0  network/conv2/Conv-op1 = nan\n"),
                  document->graph());
  REQUIRE(links.size() == 3);
  CHECK(links[2].iteration == core::Iteration(4));
  CHECK(links[2].rank == core::Rank(1));
}

TEST_CASE("A link moves the cursor in one step, and there is one way back") {
  const auto document = test::openDocument(test::nanRun());
  Cursor& cursor = document->cursor();
  cursor.selectNode(*document->graph().findNode("network/conv1/Conv-op1"));
  const Place before = cursor.place();
  const std::vector<PlacedLink> links = placedLinks(kText, document->graph());
  REQUIRE(followLink(links[2], *document));
  CHECK(cursor.iteration() == core::Iteration(4));
  CHECK(cursor.rank() == core::Rank(1));
  CHECK(document->graph().node(cursor.node()).name == "network/conv2/Conv-op1");
  cursor.back();
  CHECK(cursor.place() == before);
  REQUIRE(followLink(links[3], *document));
  CHECK(cursor.place().line->line == 20);
  REQUIRE(followLink(links[4], *document));
  CHECK(cursor.iteration() == core::Iteration(3));
  CHECK(cursor.rank() == core::Rank(1));
}

TEST_CASE("A link to an iteration that is not recorded leads nowhere") {
  const auto document = test::openDocument(test::nanRun());
  const Place before = document->cursor().place();
  for (const char* text : {"network/conv1/weight iteration 4000", "network/conv1/weight iteration 4, rank 7",
                           "iteration 4000", "rank 99", "iteration 99999999999999999999"}) {
    CAPTURE(text);
    const std::vector<PlacedLink> links = placedLinks(text, document->graph());
    REQUIRE_FALSE(links.empty());
    CHECK_FALSE(followLink(links.front(), *document));
    CHECK(document->cursor().place() == before);
  }
}

TEST_CASE("A text that was made to be slow is not") {
  const auto document = test::openDocument(test::nanRun());
  QElapsedTimer timer;
  timer.start();
  for (const char* unit : {"[", ")", "a/b)", "a.cpp:1 ", "iteration 1 ", "network/conv1/weight\n"}) {
    const QString text = QString::fromLatin1(unit).repeated(400'000 / static_cast<int>(strlen(unit)));
    placedLinks(text, document->graph());
  }
  CHECK(timer.elapsed() < 10'000);
}

}  // namespace msdbg::app

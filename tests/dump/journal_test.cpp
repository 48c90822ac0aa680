#include "dump/journal.h"

#include <catch2/catch.hpp>

#include "tests/dump/recorded_run.h"

using namespace msdbg;
using namespace msdbg::dump;

namespace {

SegmentLine sampleLine() {
  SegmentLine line;
  line.segment = 3;
  line.file = "segment_000003.h5";
  line.iterations = {5, 6, 7, 9};
  line.incomplete = true;
  line.bytes = 12345;
  line.graph = 1;
  line.hash = "00112233445566778899aabbccddeeff";
  line.rawBytes = 100;
  line.storedBytes = 50;
  line.tensors = 7;
  line.replaces = {1, 2};
  line.tensorsDropped = true;
  return line;
}

}  // namespace

TEST_CASE("A journal line carries the check that XXH3-64 gives for its text") {
  // printf '{"a":1}' | xxhsum -H3
  CHECK(withCheck("{\"a\":1}").starts_with("{\"a\":1,\"check\":\""));
  CHECK(withoutCheck(withCheck("{\"a\":1}")) == "{\"a\":1}");
  CHECK_FALSE(withoutCheck("{\"a\":1}"));
  CHECK_FALSE(withoutCheck(""));
}

TEST_CASE("Journal lines are read back as they were written") {
  RunEnd end;
  end.state = "failed";
  end.message = "loss is \"nan\"\n";
  end.exitStatus = 3;
  end.iteration = 17;
  GraphLine graph{2, "graph_0002.pb", "ff", 99, {{"a/b.cpp", "abcd"}}};
  const Journal journal = parseJournal(formatHeader({1, 0, 2, 4}) + "\n" + formatGraph(graph) + "\n" +
                                       formatSegment(sampleLine()) + "\n" + formatEnd(end) + "\n");
  REQUIRE(journal.header);
  CHECK(journal.header->rank == 2);
  CHECK(journal.header->ranks == 4);
  REQUIRE(journal.graphs.size() == 1);
  CHECK(journal.graphs[0].sources.at("a/b.cpp") == "abcd");
  REQUIRE(journal.segments.size() == 1);
  CHECK(formatSegment(journal.segments[0]) == formatSegment(sampleLine()));
  CHECK(journal.segments[0].iterations == sampleLine().iterations);
  REQUIRE(journal.end);
  CHECK(journal.end->message == end.message);
  CHECK(journal.end->exitStatus == 3);
  CHECK_FALSE(journal.end->signal);
  CHECK(journal.badLines.empty());
  CHECK_FALSE(journal.torn);
}

TEST_CASE("A journal torn at any byte of its last line loses that line only") {
  const std::string first = formatHeader({}) + "\n" + formatSegment(sampleLine()) + "\n";
  const std::string whole = first + formatEnd({}) + "\n";
  for (std::size_t length = first.size(); length < whole.size(); ++length) {
    const Journal journal = parseJournal(std::string_view(whole).substr(0, length));
    CHECK(journal.segments.size() == 1);
    CHECK_FALSE(journal.end);
    CHECK(journal.badLines.empty());
    CHECK(journal.torn == (length > first.size()));
  }
}

TEST_CASE("Every changed bit of a journal is noticed") {
  const std::string text =
      formatHeader({}) + "\n" + formatSegment(sampleLine()) + "\n" + formatEnd({}) + "\n";
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string changed = text;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    const Journal journal = parseJournal(changed);
    CHECK((!journal.badLines.empty() || journal.torn));
  }
}

TEST_CASE("Lines that make no sense are bad lines, with a right check too") {
  for (const std::string object :
       {R"({"segment":0,"file":"../../etc/passwd","iterations":"0","bytes":1,"hash":""})",
        R"({"segment":0,"file":"s.h5","iterations":"0-9000000000000000000","bytes":1,"hash":""})",
        R"({"segment":0,"file":"s.h5","iterations":"0-","bytes":1,"hash":""})",
        R"({"segment":0,"file":"s.h5","iterations":"","bytes":1,"hash":""})",
        R"({"segment":"x","file":"s.h5","iterations":"0","bytes":1,"hash":""})",
        R"({"segment":0,"file":"s.h5","iterations":"0","bytes":1})", R"({"journal":"msdbg","version":[]})",
        R"([1])", R"({"end":7})"}) {
    CAPTURE(object);
    CHECK(parseJournal(withCheck(object) + "\n").badLines == std::vector<std::size_t>{1});
  }
  // A kind of line that a later minor version may add.
  CHECK(parseJournal(withCheck(R"({"note":"hello"})") + "\n").badLines.empty());
}

TEST_CASE("Two recorders cannot write into one rank, and a recording is not continued") {
  const test::TempDir folder;
  auto writer = JournalWriter::create(folder / "journal");
  REQUIRE(writer.ok());
  auto second = JournalWriter::create(folder / "journal");
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().code() == core::ErrorCode::kUsage);
  CHECK_THAT(second.error().message(), Catch::Contains("another process is recording"));
  REQUIRE((*writer)->append(formatHeader({})).ok());
  *writer = nullptr;
  auto third = JournalWriter::create(folder / "journal");
  REQUIRE_FALSE(third.ok());
  CHECK_THAT(third.error().message(), Catch::Contains("holds a recording already"));
}

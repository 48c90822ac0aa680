#include "dump/journal.h"

#include <catch2/catch.hpp>
#include <random>

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

TEST_CASE("Metrics are read back by name and iteration, and of the same ones the last counts") {
  const Journal journal = parseJournal(formatHeader({}) + "\n" +
                                       formatMetrics({7, {{"val_loss", 0.1}, {"odd \"name\"/x", NAN}}}) +
                                       "\n" + formatMetrics({3, {{"val_loss", -INFINITY}}}) + "\n" +
                                       formatMetrics({7, {{"val_loss", 1.0 / 3}}}) + "\n");
  CHECK(journal.badLines.empty());
  CHECK(journal.metrics.size() == 2);
  CHECK(journal.metrics.at("val_loss") == std::map<std::int64_t, double>{{3, -INFINITY}, {7, 1.0 / 3}});
  CHECK(std::isnan(journal.metrics.at("odd \"name\"/x").at(7)));
  for (const char* object :
       {R"({"metrics":7})", R"({"metrics":{"iteration":1}})", R"({"metrics":{"iteration":"x","values":{}}})",
        R"({"metrics":{"iteration":1,"values":{"a":[1]}}})"}) {
    CAPTURE(object);
    CHECK(parseJournal(withCheck(object) + "\n").badLines == std::vector<std::size_t>{1});
  }
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

namespace {

std::string textOf(const Journal& journal) {
  std::string text;
  for (const SegmentLine& line : journal.segments) text += formatSegment(line) + "\n";
  for (const std::size_t line : journal.badLines) text += "bad " + std::to_string(line) + "\n";
  for (const std::size_t line : journal.breaks)  // of a bad line nothing else is asked
    if (!std::ranges::count(journal.badLines, line)) text += "break " + std::to_string(line) + "\n";
  return text + journal.lastCheck.value_or("none");
}

// The lines of segments are read after all others.
Journal readWhereShown(const std::string& text) {
  struct Shown {
    std::int64_t segment;
    std::vector<std::int64_t> replaces;
    std::string object;
    std::size_t line;
  };
  std::vector<Shown> all;
  JournalParser parser(UINT64_MAX);
  parser.showSegments([&](const SegmentGlance& shown, std::string_view object, std::size_t line) {
    all.push_back({shown.segment, shown.replaces, std::string(object), line});
  });
  parser.add(text);
  for (const Shown& shown : all)
    if (auto line = parser.segment({shown.segment, {}, shown.replaces, {}}, shown.object, shown.line))
      parser.segments().push_back(*line);
  return parser.finish();
}

enum class Reading { kUsual, kGeneral, kShown };

// What is read of a line alone, behind a header. A key that nobody knows makes the general reading read it.
std::string readAlone(const std::string& object, Reading how) {
  std::string other = object;
  if (how == Reading::kGeneral) other.insert(other.size() - 1, R"(,"moon":"new")");
  const std::string text = formatHeader({}) + "\n" + withCheck(other) + "\n";
  Journal journal = how == Reading::kShown ? readWhereShown(text) : parseJournal(text);
  journal.lastCheck = "";
  return textOf(journal);
}

std::vector<std::string> segmentObjects() {
  SegmentLine line = sampleLine();
  line.checkpoints = {5};
  line.batches = {5, 6};
  line.stateBytes = 1;
  line.batchBytes = 2;
  const std::string header = checkOfLine(formatHeader({}));
  const std::string plain = withoutCheck(formatSegment(line)).value();
  std::vector<std::string> objects = {
      plain,
      plain.substr(0, plain.size() - 1) + R"(,"after":")" + header + R"("})",
      R"({"hash":"ab","bytes":900,"iterations":"3,1","file":"a\u0062.h5","segment":2,"after":")" + header +
          R"("})",
      R"({ "bytes" : 900 , "hash":"","iterations" : " 1 - 2 ","file":"b" ,"segment":2, "replaces":[ 1 , 2 ] })",
      R"({"segment":1,"segment":2,"file":"b","iterations":"1","bytes":900,"hash":"","graph":null})",
      R"({"segment":1,"file":"b","iterations":"1","bytes":18446744073709551615,"hash":"","replaces":[]})",
      R"({"segment":-1,"file":"b","iterations":"1","bytes":1e3,"hash":""})",
      R"({"segment":1,"file":"b","iterations":"1","bytes":99999999999999999999,"hash":""})",
      R"({"segment":1,"file":"b","iterations":"1","bytes":900,"hash":"\ud800","tensors":1.0})",
      R"({"segment":1,"file":"b","iterations":"1","bytes":900,"hash":"","after":"0123456789abcdef"})",
      R"({"segment":1,"file":"b","iterations":"1","bytes":900,"hash":"","after":5})",
      R"({"segment":1,"file":"b","iterations":"1","bytes":900,"hash":"","end":{"state":"failed"}})"};
  return objects;
}

}  // namespace

TEST_CASE("The line of a segment means the same, whichever way it is read") {
  std::mt19937 random(1);
  constexpr std::string_view kBytes = "\"\\{}[]:,0123456789-+.eEtfn u\x01\x80\xc3\xa9/";
  for (const std::string& object : segmentObjects()) {
    CHECK(readAlone(object, Reading::kUsual) == readAlone(object, Reading::kGeneral));
    CHECK(readAlone(object, Reading::kUsual) == readAlone(object, Reading::kShown));
    for (int trial = 0; trial < 3000; ++trial) {
      std::string changed = object;
      for (unsigned edits = 1 + random() % 2; edits > 0; --edits) {
        const std::size_t at = 1 + random() % (changed.size() - 2);
        const char byte = kBytes[random() % kBytes.size()];
        const unsigned how = random() % 3;
        if (how == 0)
          changed[at] = byte;
        else if (how == 1)
          changed.insert(at, 1, byte);
        else
          changed.erase(at, 1 + random() % std::min<std::size_t>(8, changed.size() - 1 - at));
        if (changed.size() < 4) break;
      }
      const std::string fast = readAlone(changed, Reading::kUsual);
      const std::string general = readAlone(changed, Reading::kGeneral);
      const std::string shown = readAlone(changed, Reading::kShown);
      if (fast != general || fast != shown) {
        CAPTURE(changed);
        REQUIRE(fast == general);
        REQUIRE(fast == shown);
      }
    }
  }
}

TEST_CASE("The line of a segment is not believed to hold more iterations than its file has room for") {
  const auto line = [](const std::string& iterations, int bytes) {
    return withCheck(R"({"segment":0,"file":"s.h5","iterations":")" + iterations + R"(","bytes":)" +
                     std::to_string(bytes) + R"(,"hash":""})") +
           "\n";
  };
  CHECK(parseJournal(line("0-9", 170)).segments.size() == 1);
  CHECK(parseJournal(line("0-9", 169)).badLines == std::vector<std::size_t>{1});
  CHECK(parseJournal(line("0-1048574", 1000)).badLines == std::vector<std::size_t>{1});
  // Where there is room it is one range, however often it is said.
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += line("0-1048574", 1 << 26);
  JournalParser parser(1 << 20);
  parser.add(text);
  const Journal journal = parser.finish();
  REQUIRE(journal.segments.size() == 1);
  CHECK(journal.segments[0].iterations.ranges().size() == 1);
  CHECK(journal.badLines.front() == 2);
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

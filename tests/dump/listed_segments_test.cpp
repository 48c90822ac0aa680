// Which segments count, of a journal in which later lines replace most of the earlier ones.
#include "dump/reader/listed_segments.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

using namespace msdbg::dump;

namespace {

/// Lines as a recorder writes them, with mistakes and other hands in between.
class DrawnJournal {
 public:
  explicit DrawnJournal(unsigned seed) : m_random(seed) {
    add(formatHeader({}));
    while (m_next < 12'000) addSegment();
  }
  const std::string& text() const { return m_text; }
  std::vector<std::string> files() const { return m_files; }

 private:
  bool oneIn(unsigned n) { return m_random() % n == 0; }
  void add(const std::string& line) {
    std::string object = withoutCheck(line).value();
    if (!m_after.empty()) object.insert(object.size() - 1, R"(,"after":")" + m_after + R"(")");
    if (oneIn(50)) object.insert(object.size() - 1, R"(,"moon":{"phase":[1]})");  // of a later version
    const std::string whole = withCheck(object);
    m_text += whole + "\n";
    if (oneIn(200)) m_text += whole + "\n";                              // repeated
    if (oneIn(200)) m_text += whole.substr(0, whole.size() / 2) + "\n";  // torn
    m_after = oneIn(200) ? "0123456789abcdef" : checkOfLine(whole);      // the next one is out of place
  }
  void addSegment() {
    SegmentLine line;
    const bool isTooShort = oneIn(100);  // its file, for its iterations
    line.segment = oneIn(300) && !m_wasTooShort ? m_next - 1 : m_next;
    m_wasTooShort = isTooShort;
    ++m_next;
    line.file = "segment_" + std::to_string(line.segment) + ".h5";
    line.bytes = isTooShort ? 1 : 30'000;
    line.iterations = {10 * line.segment};
    while (m_live.size() > 8 && oneIn(2) && !isTooShort) {
      const std::size_t at = m_random() % m_live.size();
      line.replaces.push_back(m_live[at]);
      m_live.erase(m_live.begin() + static_cast<std::ptrdiff_t>(at));
    }
    m_live.push_back(line.segment);
    m_files.push_back(line.file);
    add(formatSegment(line));
  }
  std::mt19937 m_random;
  std::int64_t m_next = 0;
  bool m_wasTooShort = false;
  std::vector<std::int64_t> m_live;
  std::vector<std::string> m_files;
  std::string m_text, m_after;
};

/// From all lines, read at once.
std::vector<std::string> countingOf(const std::vector<SegmentLine>& all) {
  std::set<std::int64_t> gone;
  for (const SegmentLine& line : all) gone.insert(line.replaces.begin(), line.replaces.end());
  std::vector<std::string> lines;
  for (const SegmentLine& line : all)
    if (gone.insert(line.segment).second) lines.push_back(formatSegment(line));
  return lines;
}

struct Listed {
  std::vector<std::string> lines, unlisted;
  Journal rest;
};
Listed listedIn(std::string_view text, const std::vector<std::string>& files) {
  ListedSegments listed(files);
  JournalParser parser(UINT64_MAX);
  parser.showSegments([&](const SegmentGlance& shown, std::string_view object, std::size_t line) {
    listed.take(shown, object, line);
  });
  for (std::mt19937 random(1); !text.empty();) {
    const std::size_t piece = std::min<std::size_t>(text.size(), 1 + random() % 5000);
    parser.add(text.substr(0, piece));
    text.remove_prefix(piece);
  }
  Listed found;
  for (const SegmentLine& line : listed.finish(parser)) found.lines.push_back(formatSegment(line));
  found.unlisted = listed.unlisted();
  found.rest = parser.finish();
  return found;
}

}  // namespace

TEST_CASE("Of lines that replace others those count that a reading of all lines says count") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  const DrawnJournal drawn(seed);
  const Journal all = parseJournal(drawn.text());
  std::vector<std::string> files = drawn.files();
  files.push_back("nobody_names_it.h5");
  const Listed found = listedIn(drawn.text(), files);
  CHECK(found.lines == countingOf(all.segments));
  CHECK(found.unlisted == std::vector<std::string>{"nobody_names_it.h5"});
  CHECK(found.rest.segments.empty());
  CHECK(found.rest.breaks == all.breaks);
  CHECK_FALSE(found.rest.badLines.empty());
  CHECK(std::ranges::includes(all.badLines, found.rest.badLines));  // of those that count
}

TEST_CASE(
    "Of the segments that a journal lists those count that no line replaces, before it or after; once") {
  std::mt19937 random(3);
  std::vector<SegmentLine> lines;
  std::string text = formatHeader({}) + "\n";
  for (std::int64_t i = 0; i < 30'000; ++i) {
    SegmentLine line;
    line.segment = i % 7 == 0 ? static_cast<std::int64_t>(random() % 30'000) : i;
    line.file = "f" + std::to_string(i);
    line.bytes = 100;
    line.iterations = {i};
    if (i % 8 == 7)
      for (int k = 0; k < 7; ++k) line.replaces.push_back(static_cast<std::int64_t>(random() % 30'000));
    text += formatSegment(line) + "\n";
    lines.push_back(line);
  }
  const Listed found = listedIn(text, {"f5", "f29999", "other"});
  CHECK(found.lines == countingOf(lines));
  CHECK(found.unlisted == std::vector<std::string>{"other"});
}

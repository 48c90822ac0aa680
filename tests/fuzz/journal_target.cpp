#include "dump/journal.h"
#include "tests/fuzz/fuzz_targets.h"

namespace msdbg::fuzz {
namespace {

// A fuzzer cannot guess hashes: each line is read once as it is, and once with its check put right.
std::string withChecks(std::string_view text) {
  std::string checked;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, length));
    checked += (line.empty() ? line : dump::withCheck(line)) + "\n";
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return checked;
}

// A key that nobody knows, in each line that may be a segment's: then the general reading reads it.
std::string withStrangeKeys(std::string_view text) {
  std::string strange;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, length));
    if (line.find("\"segment\"") != std::string::npos && line.ends_with('}'))
      line.insert(line.size() - 1, ",\"moon\":0");
    strange += line + "\n";
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return strange;
}

void requireSameSegments(const dump::Journal& fast, const dump::Journal& general) {
  require(fast.segments.size() == general.segments.size(), "both readings find the same segments");
  for (std::size_t i = 0; i < fast.segments.size(); ++i)
    require(dump::formatSegment(fast.segments[i]) == dump::formatSegment(general.segments[i]),
            "both readings say the same of a segment");
}

void checkLines(const dump::Journal& journal) {
  std::string text;
  for (const dump::SegmentLine& line : journal.segments) {
    require(line.file.find('/') == std::string::npos, "names do not leave the folder");
    text += dump::formatSegment(line) + "\n";
  }
  for (const dump::GraphLine& line : journal.graphs) text += dump::formatGraph(line) + "\n";
  if (journal.end) text += dump::formatEnd(*journal.end) + "\n";
  const dump::Journal again = dump::parseJournal(text);
  require(again.badLines.empty() && !again.torn, "lines that were written can be read");
  require(again.segments.size() == journal.segments.size(), "no segment is lost");
  for (std::size_t i = 0; i < again.segments.size(); ++i)
    require(again.segments[i].iterations == journal.segments[i].iterations, "iterations stay the same");
}

}  // namespace

void fuzzJournal(Bytes input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  checkLines(dump::parseJournal(text));
  const dump::Journal checked = dump::parseJournal(withChecks(text));
  checkLines(checked);
  // Without "after": what it says is of lines that have other checks now.
  if (text.find("after") == std::string::npos)
    requireSameSegments(checked, dump::parseJournal(withChecks(withStrangeKeys(text))));
}

}  // namespace msdbg::fuzz

// A journal whose file fails goes on in another, and reads as one.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "dump/journal.h"
#include "dump/reader/journal_tail.h"
#include "tests/dump/recorded_run.h"

namespace msdbg::test {

namespace fs = std::filesystem;
using namespace dump;

namespace {

/// From here on nothing can be written through the descriptor that this process has of the file, nor taken
/// back.
void breakWriting(const fs::path& file) {
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (fs::read_symlink(entry.path(), error) != file) continue;
    const int readOnly = ::open(file.c_str(), O_RDONLY);
    ::dup2(readOnly, std::stoi(entry.path().filename().string()));
    ::close(readOnly);
    return;
  }
  FAIL("not open: " << file);
}

std::string segment(std::int64_t number) {
  SegmentLine line;
  line.segment = number;
  line.file = "segment_" + std::to_string(number) + ".h5";
  line.iterations = {number};
  line.bytes = 20000;
  return formatSegment(line);
}

std::vector<std::int64_t> numbersOf(const Journal& journal) {
  std::vector<std::int64_t> numbers;
  for (const SegmentLine& line : journal.segments) numbers.push_back(line.segment);
  return numbers;
}

struct Written {
  TempDir folder;
  fs::path file = fs::canonical(folder.path()) / "journal";
  std::unique_ptr<JournalWriter> writer = JournalWriter::create(file).orThrow();

  Written() {
    CHECK(writer->append(formatHeader({})).ok());
    CHECK(writer->append(segment(0)).ok());
  }
  Journal read() const { return parseJournal(JournalTail().readOn(file).orThrow()); }
};

}  // namespace

TEST_CASE("A journal whose file fails goes on in journal.1, and again in journal.2") {
  Written run;
  for (int part = 1; part <= 2; ++part) {
    breakWriting(journalPart(run.file, part - 1));
    CHECK(run.writer->append(segment(2 * part - 1)).ok());
    CHECK(run.writer->append(segment(2 * part)).ok());
    CHECK(fs::exists(journalPart(run.file, part)));
  }
  const Journal journal = run.read();
  CHECK(numbersOf(journal) == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  CHECK(journal.breaks.empty());
  CHECK(journal.badLines.empty());
  CHECK(journal.header);
}

TEST_CASE("What a failed file has behind its last durable line does not matter") {
  Written run;
  breakWriting(run.file);
  CHECK(run.writer->append(segment(1)).ok());
  FILE* file = fopen(run.file.c_str(), "a");
  fputs("{\"segment\":1,\"file\":\"seg", file);
  fclose(file);
  const Journal journal = run.read();
  CHECK(numbersOf(journal) == std::vector<std::int64_t>{0, 1});
  CHECK_FALSE(journal.torn);
  CHECK(journal.badLines.empty());
  CHECK(journal.breaks.empty());
}

TEST_CASE("A part that lost its first lines, or the lines before it, is found out") {
  Written run;
  breakWriting(run.file);
  CHECK(run.writer->append(segment(1)).ok());
  const std::string before = readText(run.file), part = readText(journalPart(run.file, 1));
  writeText(journalPart(run.file, 1), part.substr(part.find('\n') + 1));
  CHECK(run.read().breaks.size() == 1);
  writeText(journalPart(run.file, 1), part);
  writeText(run.file, before.substr(0, before.find('\n') + 1));
  CHECK(run.read().breaks.size() == 1);
}

TEST_CASE("Lines wait while no file can be written, and are read as they come") {
  Written run;
  JournalTail tail;
  (void)tail.readOn(run.file).orThrow();
  CHECK_FALSE(tail.hasChanged(run.file));
  breakWriting(run.file);
  fs::create_directories(journalPart(run.file, 1) / "in the way");
  CHECK_FALSE(run.writer->append(segment(1)).ok());
  CHECK(run.writer->isBehind());
  CHECK_FALSE(run.writer->append(segment(2)).ok());
  fs::remove_all(journalPart(run.file, 1));
  CHECK(run.writer->flush().ok());
  CHECK_FALSE(run.writer->isBehind());
  CHECK(tail.hasChanged(run.file));
  const Journal more = parseJournal(tail.readOn(run.file).orThrow());
  CHECK(numbersOf(more) == std::vector<std::int64_t>{1, 2});
  CHECK_FALSE(tail.hasChanged(run.file));
  CHECK(run.writer->append(segment(3)).ok());
  CHECK(numbersOf(parseJournal(tail.readOn(run.file).orThrow())) == std::vector<std::int64_t>{3});
}

TEST_CASE("A gap reads as it was written") {
  const std::string line = formatGap(
      {*core::IterationSet::parse("12-40,50", 100), "cannot write x: No space left on device", 1.5, 4.25});
  const Journal journal = parseJournal(formatHeader({}) + "\n" + line + "\n");
  REQUIRE(journal.gaps.size() == 1);
  CHECK(journal.gaps[0].iterations.text() == "12-40,50");
  CHECK(journal.gaps[0].why == "cannot write x: No space left on device");
  CHECK(journal.gaps[0].from == 1.5);
  CHECK(journal.gaps[0].until == 4.25);
  CHECK(parseJournal(withCheck(R"({"gap":{"iterations":"9-x"}})") + "\n").badLines.size() == 1);
}

TEST_CASE("A restart reads as it was written") {
  const Journal journal = parseJournal(formatHeader({}) + "\n" + formatRestart({0, 199}) + "\n");
  REQUIRE(journal.restarts.size() == 1);
  CHECK(journal.restarts[0].iteration == 0);
  CHECK(journal.restarts[0].newest == 199);
  CHECK(parseJournal(withCheck(R"({"restart":{"iteration":3}})") + "\n").badLines.size() == 1);
}

}  // namespace msdbg::test

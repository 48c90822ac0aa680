// Run folders made by somebody who means harm: files that are pipes, devices, links or larger than the disk,
// texts that nest or claim without end, names that lead out of the folder. What can be read is read; the rest
// is one line. In little memory and without waiting.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "dump/codec/dataset_path.h"
#include "dump/journal.h"
#include "dump/writer/rank_status.h"
#include "tests/dump/patched_run.h"
#include "tests/dump/recorded_run.h"
#include "tests/support/small_process.h"

using namespace msdbg;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kTerabyte = 1ull << 40;

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// A file with a hole: it takes no room on the disk.
void makeHole(const fs::path& file, std::uint64_t bytes) {
  fs::remove(file);
  test::writeText(file, "");
  fs::resize_file(file, bytes);
}

void makePipe(const fs::path& file) {
  fs::remove(file);
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
}

void makeLink(const fs::path& file, const fs::path& to) {
  fs::remove(file);
  fs::create_symlink(to, file);
}

void makeFolder(const fs::path& file) {
  fs::remove(file);
  fs::create_directory(file);
}

// One source file and three segments of one iteration each.
class Original {
 public:
  Original() {
    test::writeText(m_folder / "train.cpp", "int main() {\n  relu(x);\n}\n");
    test::record(m_folder / "run", test::smallGraph(false, (m_folder / "train.cpp").string()), {},
                 {.iterations = 3, .commitEach = true});
  }
  void copyTo(const fs::path& run) const { fs::copy(m_folder / "run", run, fs::copy_options::recursive); }

 private:
  test::TempDir m_folder;
};

struct Attack {
  const char* name;
  std::function<void(const fs::path& run)> make;
  const char* says;                      // a part of the error or of what is listed as damage
  std::vector<std::int64_t> whole = {};  // iterations that are read all the same; {}: the run is refused
};

void add(const fs::path& journal, const std::string& object) {
  std::ofstream(journal, std::ios::app) << dump::withCheck(object) << "\n";
}

std::string segmentLine(const std::string& file, const std::string& iterations) {
  return R"({"segment":7,"file":)" + ordered_json(file).dump() + R"(,"iterations":")" + iterations +
         R"(","bytes":1000,"graph":0,"hash":""})";
}

// What a journal may be made to say: the line is bad, everything else is read.
Attack badLine(const char* name, const std::string& object) {
  return {name,
          [=](const fs::path& run) { add(run / "rank_0/journal", object); },
          "does not match its check",
          {0, 1, 2}};
}

const std::vector<std::int64_t> kAll = {0, 1, 2};

std::vector<Attack> attacks() {
  const auto info = [](const std::string& text) {
    return [=](const fs::path& run) { test::writeText(run / "run.json", text); };
  };
  const auto infoKey = [](const char* key, const ordered_json& value) {
    return
        [=](const fs::path& run) { test::patchRunInfo(run, [&](ordered_json& json) { json[key] = value; }); };
  };
  constexpr const char* kGraph = "the graph";
  const auto pathIn = [](const fs::path& run, const std::string& name) {
    return name == kGraph ? test::graphFile(run) : run / name;
  };
  const auto file = [pathIn](const char* name, void (*make)(const fs::path&)) {
    return [=](const fs::path& run) { make(pathIn(run, name)); };
  };
  const auto hole = [pathIn](const char* name, std::uint64_t bytes) {
    return [=](const fs::path& run) { makeHole(pathIn(run, name), bytes); };
  };
  const auto link = [](const char* name, const char* to) {
    return [=](const fs::path& run) { makeLink(run / name, to); };
  };
  constexpr const char* kSegment = "rank_0/segment_000001.h5";
  return {
      {"run.json of brackets", info(repeated("[", 2'000'000)), "run.json: nested too deeply"},
      {"run.json that nests within a key", info("{\"format\":[1,0],\"x\":" + repeated("{\"y\":", 1'000'000)),
       "run.json: nested too deeply"},
      {"run.json of a terabyte", hole("run.json", kTerabyte), "run.json is larger than it can be"},
      {"run.json is a pipe", file("run.json", makePipe), "run.json is not a file"},
      {"run.json is a folder", file("run.json", makeFolder), "run.json is not a file"},
      {"run.json is a device", link("run.json", "/dev/zero"), "run.json is not a file"},
      {"run.json is a link to itself", link("run.json", "run.json"), "cannot read"},
      {"run.json is another file", link("run.json", "/etc/passwd"),
       "run.json: not the JSON that was expected"},
      {"more ranks than there can be", infoKey("ranks", 1e300), "a whole number is expected"},
      {"2^31 ranks", infoKey("ranks", 2147483648), "a number is out of range"},
      {"a million ranks", infoKey("ranks", 1'000'000), "impossible number of ranks"},
      {"a version of a fraction", infoKey("format", {1.5, 0}), "a whole number is expected"},
      {"a rule with an expression without end",
       infoKey("policy", {{"rules", {{{"policy", "full"}, {"regex", repeated("(", 100'000)}}}}}), "", kAll},
      {"graph of a terabyte", hole(kGraph, kTerabyte), ".pb is larger than it can be"},
      {"graph is a pipe", file(kGraph, makePipe), ".pb is not a file"},
      {"a later graph is a device", link("graph_0009.pb", "/dev/zero"), "graph_0009.pb is not a file", kAll},
      {"graph that nests",
       [](const fs::path& run) {
         test::writeText(test::graphFile(run), "\x08\x01" + repeated("\x0b", 1'000'000));
       },
       ".pb: not a graph"},
      {"journal of a terabyte", hole("rank_0/journal", kTerabyte), "rank_0/journal: cannot be read", kAll},
      {"journal of one endless line", hole("rank_0/journal", 256u << 20), "its last line is torn", kAll},
      {"journal is a pipe", file("rank_0/journal", makePipe), "rank_0/journal: cannot be read", kAll},
      {"journal is a folder", file("rank_0/journal", makeFolder), "rank_0/journal: cannot be read", kAll},
      {"journal is a device", link("rank_0/journal", "/dev/zero"), "rank_0/journal: cannot be read", kAll},
      {"journal of nothing but line ends",
       [](const fs::path& run) { test::writeText(run / "rank_0/journal", std::string(1'000'000, '\n')); },
       "line 1 does not match its check", kAll},
      badLine("a line that nests", "{\"segment\":" + repeated("[", 1'000'000) + "}"),
      badLine("iterations without end", segmentLine("segment_000007.h5", "0-9223372036854775807")),
      badLine("iterations to the last number there is",
              segmentLine("segment_000007.h5", "9223372036854775807-")),
      badLine("more iterations than its file has room for", segmentLine("segment_000007.h5", "3-1048574")),
      badLine("a name that leads up", segmentLine("../segment_000007.h5", "7")),
      badLine("a name that leads away", segmentLine("/etc/passwd", "7")),
      badLine("a name that is the folder", segmentLine("..", "7")),
      badLine("a name that ends early", segmentLine(std::string("a\0b", 3), "7")),
      badLine("a name without end", segmentLine(std::string(1 << 20, 'a'), "7")),
      badLine("a graph that leads up", R"({"graph":0,"file":"graphs/../../etc","bytes":1,"hash":""})"),
      badLine("a segment of a fraction",
              R"({"segment":1e300,"file":"a","iterations":"7","bytes":1,"hash":""})"),
      badLine(
          "a source that leads away",
          R"({"graph":0,"file":"graph_0000.pb","bytes":1,"hash":"","sources":{"x.cpp":"../../etc/passwd"}})"),
      {"many lines of a million iterations",
       [](const fs::path& run) {
         for (int i = 1; i <= 300; ++i)
           add(run / "rank_0/journal", segmentLine("segment_000007.h5", std::to_string(i) + "000000-" +
                                                                            std::to_string(i) + "999999"));
       },
       "does not match its check", kAll},
      {"a segment twice, for the same iterations",
       [](const fs::path& run) { add(run / "rank_0/journal", segmentLine("segment_000001.h5", "1")); },
       "rank_0/segment_000001.h5",
       {0, 2}},
      {"segment is a pipe", file(kSegment, makePipe), "segment_000001.h5: it is not a file", {0, 2}},
      {"segment is a folder", file(kSegment, makeFolder), "segment_000001.h5: it is not a file", {0, 2}},
      {"segment is a device", link(kSegment, "/dev/zero"), "segment_000001.h5: it is not a file", {0, 2}},
      {"segment is another file", link(kSegment, "/etc/passwd"), "segment_000001.h5: the file has", {0, 2}},
      {"segment of a terabyte",
       hole(kSegment, kTerabyte),
       "segment_000001.h5: the file has 1099511627776",
       {0, 2}},
      {"source is a pipe",
       [](const fs::path& run) { makePipe(fs::directory_iterator(run / "sources")->path()); },
       "is not a file", kAll},
      {"source is another file",
       [](const fs::path& run) { makeLink(fs::directory_iterator(run / "sources")->path(), "/etc/passwd"); },
       "does not match its SHA-256", kAll},
      {"status is a pipe", file("rank_0/status", makePipe), "", kAll},
      {"folders of further ranks that are none",
       [](const fs::path& run) { test::writeText(run / "rank_1", "?"); }, "", kAll},
  };
}

std::string oneLine(const std::string& text) {
  return text.find('\n') == std::string::npos ? "" : "more than a line: " + text;
}

std::string judge(const fs::path& run, const Attack& attack) {
  (void)dump::readRankStatus(run / "rank_0");
  const auto reader = dump::RunReader::open(run);
  if (!reader.ok()) {
    const std::string text = reader.error().message();
    if (!attack.whole.empty()) return "not opened: " + text;
    return text.find(attack.says) == std::string::npos ? text : oneLine(text);
  }
  if (attack.whole.empty()) return "it was opened";
  for (const std::int64_t iteration : attack.whole) {
    if (std::string difference = test::firstDifference(**reader, 0, iteration); !difference.empty())
      return difference;
  }
  std::string found;
  for (const std::string& file : (*reader)->sourceFiles()) {
    const auto text = (*reader)->sourceText(file);
    if (text && text->find("root:") != std::string::npos) return "another file is shown as a source";
  }
  for (const dump::Damage& damage : (*reader)->verify({}, {})) {
    found += damage.where + ": " + damage.what + "; ";
    if (std::string more = oneLine(found); !more.empty()) return more;
  }
  return found.find(attack.says) == std::string::npos ? "says only: " + found.substr(0, 300) : "";
}

}  // namespace

TEST_CASE("A hostile run folder is refused in one line, or read without what is hostile, in little memory") {
  const Original original;
  for (const Attack& attack : attacks()) {
    CAPTURE(attack.name);
    const test::TempDir place;
    original.copyTo(place / "run");
    test::removeCopies(place / "run");
    attack.make(place / "run");
    CHECK(test::inSmallProcess([&] { return judge(place / "run", attack); }) == "");
  }
}

TEST_CASE("A journal is read in little memory, however long it is") {
  const test::TempDir folder;
  test::record(folder / "run", test::smallGraph(), {}, {.iterations = 1});
  const std::string line = dump::withCheck(R"({"moon":")" + std::string(1000, 'x') + R"("})") + "\n";
  std::ofstream journal(folder / "run/rank_0/journal", std::ios::app);
  for (int i = 0; i < 60'000; ++i) journal << line;  // 60 MB
  journal.close();
  CHECK(test::inSmallProcess([&] { return test::firstDifference(*test::openRun(folder / "run"), 0, 0); },
                             {.memory = 40u << 20}) == "");
}

TEST_CASE("No two names have one place in a file, and none leaves its group") {
  const std::string letters("/.%2E0\0", 7);
  std::map<std::string, std::string> places;
  for (std::size_t length = 1; length <= 5; ++length) {
    std::size_t combinations = 1;
    for (std::size_t i = 0; i < length; ++i) combinations *= letters.size();
    for (std::size_t number = 0; number < combinations; ++number) {
      std::string name;
      for (std::size_t i = 0, rest = number; i < length; ++i, rest /= letters.size())
        name += letters[rest % letters.size()];
      const std::string path = dump::datasetPath("/tensor", name);
      const auto [at, fresh] = places.emplace(path, name);
      CAPTURE(path, at->second);
      if (!fresh) FAIL("two names of one place");
      const bool inside = path.starts_with("/tensor/") && path.find("/./") == std::string::npos &&
                          path.find("//") == std::string::npos && !path.ends_with("/.") &&
                          !path.ends_with("/") && path.find('\0') == std::string::npos;
      if (!inside) FAIL("it leaves its group");
    }
  }
}

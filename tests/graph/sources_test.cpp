#include "core_engine/graph/sources.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core_engine/graph/embedded_sources.h"
#include "core_engine/models/model.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using namespace msdbg::core;

namespace {

std::filesystem::path write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

}  // namespace

TEST_CASE("Frames move to their statement's first line and carry its code") {
  const test::TempDir folder;
  const std::string text =
      "Value net(Graph& g) {\n  x = relu(\r\n      conv(x,\n\n           {.out = 4}));\n}\n";
  const std::string file = write(folder / "net.cpp", text).string();
  Graph g;
  const FrameId inside = g.addFrame({file, 4, "net", "", false});
  const FrameId header = g.addFrame({file, 1, "net", "", false});
  const FrameId missing = g.addFrame({"no/such/file.cpp", 3, "net", "", false});
  const FrameId beyond = g.addFrame({file, 99, "net", "", false});
  const SourceTexts texts = resolveSources(g);
  CHECK(texts == SourceTexts{{file, text}});
  CHECK(g.frame(inside) == Frame{file, 2, "net", "x = relu( conv(x, {.out = 4}));", false});
  CHECK(g.frame(header) == Frame{file, 1, "net", "Value net(Graph& g) {", false});
  CHECK(g.frame(missing) == Frame{"no/such/file.cpp", 3, "net", "", false});
  CHECK(g.frame(beyond) == Frame{file, 99, "net", "", false});
  const Frame before = g.frame(inside);
  resolveSources(g);
  CHECK(g.frame(inside) == before);
}

TEST_CASE("A very long statement is shortened") {
  const test::TempDir folder;
  std::string text = "int table[] = {\n";
  for (int i = 0; i < 500; ++i) text += "  1,\n";
  const std::string file = write(folder / "long.cpp", text + "};\n").string();
  Graph g;
  g.addFrame({file, 300, "f", "", false});
  resolveSources(g);
  CHECK(g.frame(FrameId(0)).line == 1);
  CHECK(g.frame(FrameId(0)).code.size() < 200);
  CHECK(g.frame(FrameId(0)).code.ends_with("…"));
}

TEST_CASE("What is not a regular file is left out") {
  const test::TempDir folder;
  Graph g;
  g.addFrame({folder.path().string(), 1, "f", "", false});
  g.addFrame({"/dev/zero", 1, "f", "", false});
  g.addFrame({"", 1, "f", "", false});
  CHECK(resolveSources(g).empty());
}

TEST_CASE("The built-in models and layers carry their sources, whatever the current folder") {
  REQUIRE_FALSE(embeddedSources().empty());
  Graph g;
  const FrameId id = g.addFrame({"core_engine/train/layers.cpp", 1, "conv", "", true});
  const SourceTexts texts = resolveSources(g);
  REQUIRE(texts.size() == 1);
  CHECK(texts.begin()->second.find("Value conv(") != std::string::npos);
  CHECK(g.frame(id).code == "#include \"core_engine/train/layers.h\"");
}

TEST_CASE("Every frame of every built-in model resolves to a line that holds its call or operator") {
  for (const ModelInfo& model : builtinModels()) {
    INFO(model.name);
    Graph g;
    model.build(g, {.batch = 2});
    const std::size_t files = resolveSources(g).size();
    CHECK(files >= 1);
    for (const Node& node : g.nodes()) {
      const Frame* frame = g.userFrame(node.frames);
      REQUIRE(frame);
      INFO(node.name << " " << frame->file << ":" << frame->line);
      CHECK(frame->file == model.file);
      CHECK(frame->code.find_first_of("(+*") != std::string::npos);
    }
  }
}

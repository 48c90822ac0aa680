#include "tests/structure/layering.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {
namespace {

using Lines = std::vector<std::string>;

void write(const TempDir& root, const std::string& path, const std::string& text) {
  std::filesystem::create_directories((root / path).parent_path());
  std::ofstream(root / path) << text;
}

// The breaches of a tree that holds just this file.
Lines breachesOf(const std::string& path, const std::string& text) {
  const TempDir root;
  write(root, path, text);
  return layeringBreaches(root.path());
}

}  // namespace

TEST_CASE("Every include of the repository follows the design's arrows", "[structure]") {
  CHECK(layeringBreaches(sourceDir()) == Lines{});
}

TEST_CASE("Every operator, condition, command and panel has its row", "[structure]") {
  CHECK(missingRows(sourceDir()) == Lines{});
}

TEST_CASE("An include against the arrows is named with file and line", "[structure]") {
  CHECK(breachesOf("core_engine/graph/a.cpp", "\n#include \"dump/reader/dump_reader.h\"\n") ==
        Lines{"core_engine/graph/a.cpp:2: core_engine/graph may not include dump/reader: "
              "dump/reader/dump_reader.h"});
  CHECK(breachesOf("core_engine/base/a.h", "#include \"core_engine/graph/graph.h\"").size() == 1);
  CHECK(breachesOf("watchpoints/engine/a.cpp", "  #  include \"dump/codec/codec.h\"  // why").size() == 1);
  CHECK(breachesOf("app/cli/a.cpp", "#include <QString>").size() == 1);
  CHECK(breachesOf("replay/run/a.cpp", "#include \"tests/support/temp_dir.h\"").size() == 1);
  CHECK(breachesOf("replay/run/a.cpp", "#include \"../../dump/reader/dump_reader.h\"").size() == 1);
  CHECK(breachesOf("new_folder/a.cpp", "#include <vector>").size() == 1);
}

TEST_CASE("Readers, conditions and the window know what a graph is, not what computes it", "[structure]") {
  const std::string graph = "#include \"core_engine/graph/graph.h\"",
                    executor = "#include \"core_engine/runtime/executor.h\"",
                    trainer = "#include \"core_engine/train/trainer.h\"",
                    recorder = "#include \"dump/writer/recorder.h\"";
  for (const std::string path : {"dump/reader/a.cpp", "dump/policy/a.cpp", "watchpoints/conditions/a.cpp",
                                 "replay/run/a.cpp", "graph_view/model/a.cpp", "app/presenters/a.cpp"}) {
    CAPTURE(path);
    CHECK(breachesOf(path, graph).empty());
    CHECK(breachesOf(path, executor).size() == 1);
    CHECK(breachesOf(path, trainer).size() == 1);
    CHECK(breachesOf(path, recorder).size() == 1);
  }
  CHECK(breachesOf("core_engine/runtime/a.cpp", trainer).size() == 1);
  CHECK(breachesOf("core_engine/ops/a.h", executor).size() == 1);
  CHECK(breachesOf("replay/recompute/a.cpp", executor).empty());
  CHECK(breachesOf("replay/recompute/a.cpp", trainer).size() == 1);
}

TEST_CASE("The command line that pip installs knows nothing of the engine", "[structure]") {
  for (const std::string header :
       {"core_engine/runtime/backend.h", "core_engine/train/trainer.h", "core_engine/models/model.h",
        "replay/recompute/hindsight.h", "replay/precision/bisect.h", "app/cli/engine/builtin_engine.h"}) {
    CAPTURE(header);
    CHECK(breachesOf("app/cli/a.cpp", "#include \"" + header + "\"").size() == 1);
    CHECK(breachesOf("app/cli/engine/a.cpp", "#include \"" + header + "\"").empty());
  }
}

TEST_CASE("Who a run was written by is known where it is read, and nowhere above", "[structure]") {
  const std::string reader = "#include \"dump/reader/run_reader.h\"",
                    format = "#include \"replay/formats/msdbg/recorded_run.h\"";
  for (const std::string path : {"replay/run/a.cpp", "app/presenters/a.cpp", "app/panels/tensor/a.h"}) {
    CAPTURE(path);
    CHECK(breachesOf(path, reader).size() == 1);
  }
  CHECK(breachesOf("app/presenters/a.cpp", format).size() == 1);
  CHECK(breachesOf("replay/formats/msdbg/a.cpp", reader).empty());
  CHECK(breachesOf("replay/run/a.cpp", format).empty());
}

TEST_CASE("What the arrows allow is no breach", "[structure]") {
  CHECK(breachesOf("replay/run/a.cpp", "#include \"core_engine/base/result.h\"").empty());
  CHECK(breachesOf("app/cli/a.h", "#include <CLI/CLI.hpp>").empty());
  CHECK(breachesOf("app/presenters/a.h", "#include <QObject>\n#include \"replay/run.h\"").empty());
  CHECK(breachesOf("core_engine/graph/a.cpp", "// #include \"dump/reader/dump_reader.h\"").empty());
}

TEST_CASE("A private dependency in a public header is a breach, in a source file it is none", "[structure]") {
  for (const std::string header : {"hdf5.h", "zstd.h", "dnnl.hpp", "mpi.h", "core_engine/graph/graph.pb.h",
                                   "google/protobuf/message.h", "CLI/CLI.hpp", "xxhash.h", "simdjson.h"}) {
    CAPTURE(header);
    CHECK(breachesOf("dump/reader/a.h", "#include <" + header + ">").size() == 1);
    CHECK(breachesOf("dump/reader/a.cpp", "#include <" + header + ">").empty());
    CHECK(breachesOf("dump/reader/a_internal.h", "#include <" + header + ">").empty());
  }
}

TEST_CASE("A factory without a row is named", "[structure]") {
  const TempDir root;
  write(root, "core_engine/ops/builtin_ops.cpp", "OpDef addOp();\nkOps[] = {addOp, convOp};\n");
  write(root, "core_engine/ops/op_add.cpp", "OpDef addOp() {\n");
  write(root, "core_engine/ops/op_relu.cpp", "OpDef reluOp() {\n");
  CHECK(missingRows(root.path()) == Lines{"core_engine/ops/op_relu.cpp: reluOp is not in builtin_ops.cpp"});
}

}  // namespace msdbg::test

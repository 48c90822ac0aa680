#include "replay/formats/msdbg/died_at.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/support/temp_dir.h"

using namespace msdbg;
using replay::diedAt;

namespace {

// As Python 3.11 writes it of a backward hook that calls os.abort().
constexpr const char* kAborted = R"(Fatal Python error: Aborted

Current thread 0x00007f41 (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 508 in string_at
  File "/home/me/loss.py", line 31 in backward
  File "/home/me/venv/lib/python3.11/site-packages/torch/autograd/graph.py", line 825 in _engine_run_backward
  File "/home/me/train.py", line 12 in <module>

Thread 0x00007f42 (most recent call first):
  File "/opt/msdbg/python/msdbg/_stacks.py", line 34 in run

Extension modules: numpy.core (total: 1)
)";

}  // namespace

TEST_CASE("Where Python died is the innermost line of the user's") {
  CHECK(diedAt(kAborted) == "loss.py:31 in backward");
  CHECK(diedAt("").empty());
  CHECK(diedAt("Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n  <no Python "
               "frame>\n")
            .empty());
  // A thread of autograd's: the line is that of the one which waits for it.
  CHECK(
      diedAt(
          "Current thread 0x1 (most recent call first):\n  <no Python frame>\n\nThread 0x2 (most recent call "
          "first):\n  File \"/home/me/train.py\", line 9 in step\n") == "train.py:9 in step");
}

TEST_CASE("A rank that wrote nothing when it died has no Python line") {
  const test::TempDir folder;
  CHECK(replay::diedAtText(folder.path(), core::Rank(0)).empty());
  CHECK(replay::fatalErrorOf(folder.path(), core::Rank(0)).empty());
}

TEST_CASE("What Python calls the end of a rank is its first line") {
  const test::TempDir folder;
  std::filesystem::create_directory(folder.path() / "stacks");
  std::ofstream(folder.path() / "stacks/died_rank_1.txt")
      << "Fatal Python error: Segmentation fault\n\nThread 0x1\n";
  CHECK(replay::fatalErrorOf(folder.path(), core::Rank(1)) == "Segmentation fault");
  CHECK(replay::fatalErrorOf(folder.path(), core::Rank(0)).empty());
}

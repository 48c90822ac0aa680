#include "app/cli/unified_diff.h"

#include <catch2/catch.hpp>

namespace msdbg::test {

namespace {

std::string lines(std::string_view letters) {
  std::string text;
  for (const char letter : letters) text += std::string(1, letter) + "\n";
  return text;
}

std::string diff(std::string_view before, std::string_view after) {
  return app::unifiedDiff(lines(before), lines(after), "a.txt", "b.txt");
}

}  // namespace

// Lines and hunks as GNU diff 3.8 has them with -u for the same files; dtl writes the counts out.
TEST_CASE("A unified diff shows what diff -u shows", "[cli]") {
  CHECK(diff("abcdefghijklmnopqrstuvwxyz", "abCdDefghijklmnopqrstuvwxz") ==
        "--- a.txt\n+++ b.txt\n"
        "@@ -1,7 +1,8 @@\n a\n b\n-c\n+C\n d\n+D\n e\n f\n g\n"
        "@@ -22,5 +23,4 @@\n v\n w\n x\n-y\n z\n");
  CHECK(diff("", "xy") == "--- a.txt\n+++ b.txt\n@@ -1,0 +1,2 @@\n+x\n+y\n");
  CHECK(diff("xy", "") == "--- a.txt\n+++ b.txt\n@@ -1,2 +1,0 @@\n-x\n-y\n");
  CHECK(diff("x", "y") == "--- a.txt\n+++ b.txt\n@@ -1,1 +1,1 @@\n-x\n+y\n");
}

TEST_CASE("Changes that lie apart have hunks of their own", "[cli]") {
  CHECK(diff("a1234567b", "A1234567B") ==
        "--- a.txt\n+++ b.txt\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n"
        "@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
}

TEST_CASE("Equal texts have no difference", "[cli]") {
  CHECK(diff("abc", "abc") == "");
  CHECK(diff("", "") == "");
}

}  // namespace msdbg::test

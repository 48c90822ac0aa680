#include "app/cli/table.h"

#include <catch2/catch.hpp>

namespace msdbg::test {

TEST_CASE("A table aligns text to the left and numbers to the right, by characters and not by bytes",
          "[cli]") {
  app::Table table({"name", ">count"});
  table.row({"µ", "7"});
  table.row({"alpha", "1,234"});
  CHECK(table.text(1) == " name   count\n µ          7\n alpha  1,234\n");
}

TEST_CASE("A row may be short, and no line ends in spaces", "[cli]") {
  app::Table table({"a", "b"});
  table.row({"x"});
  CHECK(table.text() == "a  b\nx\n");
}

TEST_CASE("Large numbers are grouped by thousands", "[cli]") {
  CHECK(app::groupedNumber(0) == "0");
  CHECK(app::groupedNumber(999) == "999");
  CHECK(app::groupedNumber(1000) == "1,000");
  CHECK(app::groupedNumber(-123456) == "-123,456");
  CHECK(app::groupedNumber(-1234567) == "-1,234,567");
  CHECK(app::counted(1, "rank") == "1 rank");
  CHECK(app::counted(1500, "tensor") == "1,500 tensors");
}

TEST_CASE("Long text is wrapped with a hanging indent", "[cli]") {
  CHECK(app::wrapped("one two three four", 2, 10) == "one two\n  three\n  four");
  CHECK(app::wrapped("short", 4) == "short");
}

TEST_CASE("What a cell or a wrapped text hides from the eye is shown, and keeps the columns", "[cli]") {
  app::Table table({"name", ">count"});
  table.row({"a\x1b[2J\nforged", "7"});
  table.row({"\xff", "1"});
  CHECK(table.text() ==
        "name              count\n"
        "a\\x1b[2J\\nforged      7\n"
        "\\xff                  1\n");
  CHECK(app::wrapped("one\ntwo \x1b]0;owned\x07", 2, 12) == "one two\n  \\x1b]0;owned\\x07");
}

}  // namespace msdbg::test

#include <catch2/catch.hpp>
#include <chrono>
#include <random>

#include "core_engine/base/text.h"
#include "core_engine/graph/sources.h"

using namespace msdbg::core;

namespace {

/// For every line of the text the first line of its statement: "1 1 3".
std::string firstLines(const std::string& text) {
  std::string result;
  const auto lines = static_cast<std::int32_t>(split(text, '\n').size());
  for (std::int32_t line = 1; line <= lines; ++line)
    result += (line > 1 ? " " : "") + std::to_string(statementAt(text, line).first);
  return result;
}

bool isRange(const std::string& text, std::int32_t line, std::int32_t first, std::int32_t last) {
  const LineRange range = statementAt(text, line);
  UNSCOPED_INFO(line << ": " << range.first << "-" << range.last);
  return range.first == first && range.last == last;
}

}  // namespace

TEST_CASE("A statement ends at its semicolon, over several lines") {
  CHECK(firstLines("a = 1;\nb = f(x,\n      y);\nc = 2;") == "1 2 2 4");
  CHECK(isRange("b = f(x,\n      y,\n   z);\n", 2, 1, 3));
}

TEST_CASE("A chain of builder calls has its first line") {
  CHECK(firstLines("auto net = model\n  .conv(64)\n  .relu()\n  .pool();\nnext();") == "1 1 1 1 5");
}

TEST_CASE("Two declarations with one type are one statement") {
  CHECK(firstLines("auto x = g.input(\"x\", {64, 3}),\n     y = g.input(\"y\", {64});\nz = x;") == "1 1 3");
}

TEST_CASE("Braces inside parentheses and after names are initialisers") {
  CHECK(firstLines("x = conv(x, {\n    .out = 64,\n    .pad = 1\n});\ny = x;") == "1 1 1 1 5");
  CHECK(firstLines("Options o{\n  1,\n  2};\nint v[] = {1,\n 2};\nreturn {3,\n 4};") == "1 1 1 4 4 6 6");
  CHECK(firstLines("x = conv(x, Options{\n    .out = f(1)});\n") == "1 1 3");
}

TEST_CASE("The header of a block is a statement of its own, and so is each in the block") {
  const std::string loop =
      "for (int i = 0; i < 3;\n     ++i) {\n  x = relu(x);\n  y = f(\n    x);\n}\nz = y;";
  CHECK(firstLines(loop) == "1 1 3 4 4 6 7");
  CHECK(isRange(loop, 1, 1, 2));
  CHECK(firstLines("if (a) {\n b;\n} else if (c &&\n  d) {\n e;\n} else {\n f;\n}") == "1 2 3 3 5 6 7 8");
  CHECK(firstLines("Value net(Graph& g,\n  int n)\n{\n  return f(\n    g);\n}") == "1 1 1 4 4 6");
}

TEST_CASE("A single statement behind a header is apart from it") {
  CHECK(firstLines(
            "for (int i = 0; i < 3; ++i)\n  x = relu(\n    x);\nif (b)\n  y;\nelse\n  z;\nwhile (c)\n  d;") ==
        "1 2 2 4 5 6 7 8 9");
  CHECK(firstLines("do\n  a;\nwhile (b);\nc;") == "1 2 3 4");
  CHECK(firstLines("if constexpr (a)\n  b;\nc;") == "1 2 3");
}

TEST_CASE("Statements in the body of a lambda are their own, the rest belongs to the call") {
  const std::string call =
      "x = apply(\n  [&](Value v) {\n    v = relu(v);\n    return tanh(\n      v);\n  },\n  x);\ny = x;";
  CHECK(firstLines(call) == "1 1 3 4 4 1 1 8");
  CHECK(isRange(call, 7, 1, 7));
  CHECK(firstLines("auto f = [](Value v) {\n  return relu(v);\n};\ng();") == "1 2 1 4");
  CHECK(firstLines("f([&] {\n  a;\n});\nb;") == "1 2 1 4");
  CHECK(firstLines("f([=]() mutable noexcept -> std::vector<int> {\n  a;\n},\n{1,\n 2});\nb;") ==
        "1 2 1 1 1 6");
  CHECK(firstLines("auto f = [x = g(1)](int a) -> T {\n  return h(\n  a); };\nb;") == "1 2 2 4");
}

TEST_CASE("Structured bindings, subscripts and attributes are no lambdas") {
  CHECK(firstLines("auto& [a, b] = f(\n  x);\nc;") == "1 1 3");
  CHECK(firstLines("[[nodiscard]] int f() {\n  a;\n}\nint g() {\n  b;\n}") == "1 2 3 4 5 6");
  CHECK(firstLines("x[0] = {1,\n  2};\ny[f([&] {\n  a;\n})] = 1;\nz;") == "1 1 3 4 3 6");
  CHECK(firstLines("for (const auto& [k, v] : map) {\n  a;\n}\nb;") == "1 2 3 4");
}

TEST_CASE("Classes and namespaces hold statements of their own") {
  CHECK(firstLines("namespace a::b {\nstruct S : T {\n  int f() const {\n    return x;\n  }\n  int m{\n   "
                   "3};\n};\n}") == "1 2 3 4 5 6 6 8 9");
  CHECK(firstLines("S::S(int a)\n  : m_a{a},\n    m_b(2) {\n  f();\n}\nint x;") == "1 1 1 4 5 6");
  CHECK(firstLines("S::S() : m_a{1} {\n  f();\n}") == "1 2 3");
  CHECK(firstLines("extern \"C\" {\nint f();\n}\nauto g() -> std::pair<int, int> {\n  a;\n}") ==
        "1 2 3 4 5 6");
  CHECK(firstLines("template <class T>\nT f(T x) {\n  a;\n}\nenum class E {\n  kA,\n  kB\n};\nb;") ==
        "1 1 3 4 5 6 6 8 9");
}

TEST_CASE("A body that looks like an initialiser shows itself by a semicolon") {
  CHECK(firstLines("void f() && {\n  a;\n  b;\n}\nc;") == "1 2 3 4 5");
}

TEST_CASE("Labels end statements, scope operators and ternaries do not") {
  CHECK(firstLines("switch (a) {\n  case K::b:\n    x;\n  default:\n    y;\n}\nagain:\nz = a\n ? b\n : c;") ==
        "1 2 3 4 5 6 7 8 8 8");
  CHECK(firstLines("class A {\n public:\n  int f();\n};") == "1 2 3 4");
}

TEST_CASE("What comments and literals hold does not count") {
  CHECK(firstLines("a = f( // ; {\n  1 /* ; \n } */ );\nb = \";{(\\\"\";\nc = ';';\nd = '\\'';\ne;") ==
        "1 1 1 4 5 6 7");
  CHECK(firstLines("a = R\"x(;\n)\";{\n)x\" + f(\n  1);\nb = u8R\"(;)\";\nc;") == "1 1 1 1 5 6");
  CHECK(firstLines("a = 1'000'000 +\n  0x1.8p'3;\nb;") == "1 1 3");
  CHECK(firstLines("// x;\n\n/* y */\na;") == "1 2 3 4");
}

TEST_CASE("Preprocessor lines stand alone, also inside a statement") {
  CHECK(firstLines(
            "#include <a>\n#define F(x) { \\\n   x; \\\n }\na = f(\n#ifdef B\n  b,\n#endif\n  c);\nd;") ==
        "1 2 2 2 5 6 5 8 5 10");
  CHECK(firstLines("#define OPEN {  // (\na;\nb;") == "1 2 3");
}

TEST_CASE("Lines that belong to no statement stand for themselves") {
  CHECK(isRange("a;\n\nb;", 2, 2, 2));
  CHECK(isRange("a;", 7, 7, 7));
  CHECK(isRange("", 1, 1, 1));
  CHECK(isRange("a;", 0, 0, 0));
  CHECK(isRange("a;", -5, -5, -5));
}

TEST_CASE("Two statements on one line: the line is the first one's, their blocks keep apart") {
  CHECK(firstLines("{ auto s = g.scope(\"a\"); x = relu(conv(x, {\n  .out = 4})); }\ny;") == "1 1 3");
}

TEST_CASE("Any bytes give ranges that hold the line") {
  std::mt19937 random(3);
  const std::string_view pieces[] = {
      "(",   ")", "[", "]", "{",  "}",    ";",   "\n", "\"", "'",       "//", "/*", "*/",   "R\"(", ")\"",
      "for", "a", ",", "=", "->", "auto", "[&]", "\\", "#",  "struct ", ":",  "::", "\xff", "else "};
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::size_t n = random() % 60; n > 0; --n) {
      if (random() % 8 == 0)
        text += static_cast<char>(random());
      else
        text += pieces[random() % std::size(pieces)];
    }
    const auto lines = static_cast<std::int32_t>(split(text, '\n').size());
    for (std::int32_t line = 1; line <= lines; ++line) {
      const LineRange range = statementAt(text, line);
      INFO(text << " @ " << line << ": " << range.first << "-" << range.last);
      REQUIRE(range.first >= 1);
      REQUIRE(range.first <= line);
      REQUIRE(line <= range.last);
      REQUIRE(range.last <= lines);
    }
  }
}

TEST_CASE("Splitting takes linear time, also where nothing is ever closed") {
  const auto start = std::chrono::steady_clock::now();
  for (const char* piece :
       {"(", "{", "[&]{\n", "[&]{(", "R\"(", "\"", "/*", "((}", "f(\n", "a::b(c);\n", "#\\\n", "'"}) {
    std::string text;
    while (text.size() < 1'000'000) text += piece;
    const LineRange range = statementAt(text, 1);
    CHECK(range.first == 1);
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

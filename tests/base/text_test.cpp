#include "core_engine/base/text.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

using namespace msdbg::core;

TEST_CASE("globMatch takes the whole text, and a star crosses slashes") {
  CHECK(globMatch("*", ""));
  CHECK(globMatch("", ""));
  CHECK_FALSE(globMatch("", "a"));
  CHECK(globMatch("network/*/weight", "network/block1/conv2/weight"));
  CHECK_FALSE(globMatch("network/*/weight", "network/weight"));
  CHECK(globMatch("*conv?/weight", "network/conv1/weight"));
  CHECK_FALSE(globMatch("conv1", "network/conv1"));
  CHECK_FALSE(globMatch("?", ""));
  CHECK(globMatch("a**b***", "ab"));
  CHECK(globMatch("grad(network/conv1/weight)", "grad(network/conv1/weight)"));
}

TEST_CASE("globMatch knows character classes") {
  CHECK(globMatch("conv[12]", "conv2"));
  CHECK_FALSE(globMatch("conv[12]", "conv3"));
  CHECK(globMatch("conv[0-9]", "conv7"));
  CHECK(globMatch("conv[!0-9]", "convx"));
  CHECK_FALSE(globMatch("conv[!0-9]", "conv7"));
  CHECK(globMatch("a[]]b", "a]b"));
  CHECK(globMatch("a[a-]b", "a-b"));
  CHECK(globMatch("a[b", "a[b"));  // never closed: means itself
  CHECK_FALSE(globMatch("a[b", "ab"));
}

TEST_CASE("globMatch is quick on patterns that defeat backtracking") {
  const std::string text(20'000, 'a');
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(globMatch(pattern + "*b", text));
  CHECK_FALSE(globMatch("*a*a*a*b", text));
  CHECK(globMatch(pattern + "*", text));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
}

TEST_CASE("isGlob tells patterns from names") {
  CHECK(isGlob("a*"));
  CHECK(isGlob("a?"));
  CHECK(isGlob("[ab]"));
  CHECK_FALSE(isGlob("network/conv1/Conv-op1:0"));
}

TEST_CASE("nearestNames puts typing mistakes before parts of names and leaves out the rest") {
  const std::vector<std::string> names = {"tensor_overflow", "gradient_vanishing", "dead_relu",
                                          "rank_divergence"};
  CHECK(nearestNames("tensor_overflwo", names) == std::vector<std::string>{"tensor_overflow"});
  CHECK(nearestNames("Dead_Relu", names) == std::vector<std::string>{"dead_relu"});
  CHECK(nearestNames("vanishing", names) == std::vector<std::string>{"gradient_vanishing"});
  CHECK(nearestNames("qqqqqqqq", names).empty());
}

TEST_CASE("nearestNames compares a path with the ends of longer paths") {
  const std::vector<std::string> names = {"network/conv1/weight", "network/conv2/weight",
                                          "network/conv1/bias"};
  CHECK(nearestNames("conv1/wieght", names).front() == "network/conv1/weight");
  CHECK(nearestNames("conv1/wieght", names, 1).size() == 1);
}

TEST_CASE("nearestNames keeps the order of the candidates when they are equally near") {
  const std::vector<std::string> names = {"convb", "conva", "convc", "convd"};
  CHECK(nearestNames("conv", names) == std::vector<std::string>{"convb", "conva", "convc"});
}

TEST_CASE("didYouMean reads as a sentence") {
  CHECK(didYouMean("relx", std::vector<std::string>{"relu"}) == "; did you mean relu?");
  CHECK(didYouMean("conv", std::vector<std::string>{"conva", "convb"}) == "; did you mean conva or convb?");
  CHECK(didYouMean("conv", std::vector<std::string>{"conva", "convb", "convc"}) ==
        "; did you mean conva, convb or convc?");
  CHECK(didYouMean("zzzz", std::vector<std::string>{"conva"}).empty());
}

TEST_CASE("parseBytes reads decimal and binary units") {
  CHECK(parseBytes("1048576").value() == 1048576);
  CHECK(parseBytes("0").value() == 0);
  CHECK(parseBytes("250MB").value() == 250'000'000);
  CHECK(parseBytes("2GiB").value() == 2ull << 30);
  CHECK(parseBytes("1.5 GB").value() == 1'500'000'000);
  CHECK(parseBytes("64k").value() == 64'000);
  CHECK(parseBytes("1kib").value() == 1024);
  CHECK(parseBytes("18446744073709551615").value() == UINT64_MAX);
}

TEST_CASE("parseBytes refuses what is no size and says how to write one") {
  for (const char* text : {"", "MB", "-1", "1.2.3", "12 parsecs", "1e6", ".", "0x10", "18446744073709551616",
                           "99999999999TiB", "nan"}) {
    INFO(text);
    const auto result = parseBytes(text);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code() == ErrorCode::kUsage);
    CHECK(result.error().message().find("250MB") != std::string::npos);
  }
}

TEST_CASE("formatBytes uses powers of 1000 and carries over") {
  CHECK(formatBytes(0) == "0 B");
  CHECK(formatBytes(999) == "999 B");
  CHECK(formatBytes(4'200) == "4.2 kB");
  CHECK(formatBytes(312'000'000) == "312 MB");
  CHECK(formatBytes(1'500'000'000) == "1.5 GB");
  CHECK(formatBytes(999'999) == "1.0 MB");
  CHECK(formatBytes(9'960) == "10 kB");
  CHECK(formatBytes(UINT64_MAX) == "18 EB");
}

TEST_CASE("formatDouble gives the shortest text that reads back as the same number") {
  CHECK(formatDouble(0.1) == "0.1");
  CHECK(formatDouble(-0.0) == "-0");
  CHECK(formatDouble(std::nan("")) == "nan");
  CHECK(formatDouble(-std::nan("")) == "nan");
  CHECK(formatDouble(INFINITY) == "inf");
  CHECK(formatDouble(-INFINITY) == "-inf");
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = random();
    double value;
    static_assert(sizeof value == sizeof bits);
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    REQUIRE(std::strtod(formatDouble(value).c_str(), nullptr) == value);
  }
  for (const double value : {5e-324, 1.7976931348623157e308, 1.0 / 3, 123456789.0})
    CHECK(std::strtod(formatDouble(value).c_str(), nullptr) == value);
}

TEST_CASE("formatShort gives six significant digits, or as many as asked for") {
  CHECK(formatShort(1.0 / 3) == "0.333333");
  CHECK(formatShort(1.0 / 3, 3) == "0.333");
  CHECK(formatShort(std::copysign(NAN, -1.0)) == "nan");
  CHECK(formatShort(std::copysign(NAN, -1.0), 4) == "nan");
  CHECK(formatShort(1234567) == "1.23457e+06");
  CHECK(formatShort(-INFINITY) == "-inf");
}

TEST_CASE("split and join undo each other") {
  CHECK(split("a,b,,c", ',') == std::vector<std::string>{"a", "b", "", "c"});
  CHECK(split("", ',') == std::vector<std::string>{""});
  CHECK(join(split("x/y/z", '/'), "/") == "x/y/z");
  CHECK(join({}, ", ").empty());
}

TEST_CASE("printable shows control characters and bytes that are no UTF-8, and keeps everything else") {
  CHECK(printable("") == "");
  CHECK(printable("plain \\ text 'ü' µ € 😀 日本") == "plain \\ text 'ü' µ € 😀 日本");
  CHECK(printable("\x1b]0;owned\x07") == "\\x1b]0;owned\\x07");
  CHECK(printable("a\nb\rc\td\x7f") == "a\\nb\\rc\\td\\x7f");
  CHECK(printable("evil\u202Ecpp.\u2066x\u2069 \u200B\uFEFF\u2028") ==
        "evil\\u202ecpp.\\u2066x\\u2069 \\u200b\\ufeff\\u2028");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(printable("\xc2\x80\xc2\x9b\xc2\xa0") == "\\u0080\\u009b\xc2\xa0");  // the last is a space
  const std::string shown = printable("\x1b\xff\n");
  CHECK(printable(shown) == shown);
}

TEST_CASE("printable takes for UTF-8 only what is, to the last byte") {
  CHECK(printable("\x9b"
                  "31m") == "\\x9b31m");
  CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");                    // longer than needed
  CHECK(printable("\xe0\x82\x9b") == "\\xe0\\x82\\x9b");           // the same in three bytes
  CHECK(printable("\xf0\x80\x82\x9b") == "\\xf0\\x80\\x82\\x9b");  // and in four
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");                    // cut short
  CHECK(printable("\xc3\n") == "\\xc3\\n");                        // what follows is looked at for itself
  CHECK(printable("\xed\x9f\xbf\xf4\x8f\xbf\xbf") == "\xed\x9f\xbf\xf4\x8f\xbf\xbf");
}

TEST_CASE("shellQuoted quotes a word only where a shell needs it") {
  CHECK(shellQuoted("runs/alexnet-1.msdbg") == "runs/alexnet-1.msdbg");
  CHECK(shellQuoted("--max-size=2GB") == "--max-size=2GB");
  CHECK(shellQuoted("übung.msdbg") == "übung.msdbg");
  CHECK(shellQuoted("") == "''");
  CHECK(shellQuoted("it ü x.msdbg") == "'it ü x.msdbg'");
  CHECK(shellQuoted("grad(*)=full") == "'grad(*)=full'");
  CHECK(shellQuoted("it's") == R"('it'\''s')");
  for (const std::string word :
       {"~", "$HOME", "a;b", "a|b", "a&b", "a>b", "`a`", "a\\b", "a\nb", "{a,b}", "!", "#a"})
    CHECK(shellQuoted(word) == "'" + word + "'");
}

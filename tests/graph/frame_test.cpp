#include <catch2/catch.hpp>
#include <string>

#include "core_engine/graph/value.h"

using msdbg::core::Frame;
using msdbg::core::frameFrom;

namespace {

using Where = std::source_location;

std::string functionOf(Where where = Where::current()) { return frameFrom(where).function; }

std::string plain(int, const std::string&) { return functionOf(); }
template <typename T>
std::string generic(T) {
  return functionOf();
}
template <typename... T>
auto trailing(T...) -> std::string {
  return functionOf();
}
std::string (*pointerTo(int))() {
  static std::string name;
  name = functionOf();
  return [] { return name; };
}
decltype(auto) deduced() { return functionOf(); }

template <typename T>
struct Thing {
  std::string name;
  Thing() : name(functionOf()) {}
  std::string method(T) const { return functionOf(); }
  static std::string shared() { return functionOf(); }
  std::string operator()(int) const { return functionOf(); }
  std::string operator+(const Thing&) const { return functionOf(); }
  std::string operator<(const Thing&) const { return functionOf(); }
  std::string operator->*(int) const { return functionOf(); }
  std::string operator[](int) const { return functionOf(); }
  operator std::string() const { return functionOf(); }
};

}  // namespace

namespace outer::inner {
std::string nested(std::pair<int, std::string>) { return functionOf(); }
}  // namespace outer::inner

TEST_CASE("A frame's function is its bare name") {
  CHECK(plain(1, "") == "plain");
  CHECK(generic(std::vector<int>{}) == "generic");
  CHECK(trailing(1, 2.0) == "trailing");
  CHECK(pointerTo(1)() == "pointerTo");
  CHECK(deduced() == "deduced");
  CHECK(outer::inner::nested({}) == "nested");
}

TEST_CASE("Members are named without their class") {
  const Thing<std::pair<int, char>> thing;
  CHECK(thing.name == "Thing");
  CHECK(thing.method({}) == "method");
  CHECK(thing.shared() == "shared");
}

TEST_CASE("Operators keep their symbol") {
  const Thing<int> thing;
  CHECK(thing(1) == "operator()");
  CHECK(thing + thing == "operator+");
  CHECK((thing < thing) == "operator<");
  CHECK((thing->*1) == "operator->*");
  CHECK(thing[1] == "operator[]");
  CHECK(std::string(thing).find("operator std::") == 0);
}

TEST_CASE("A lambda is named after the function that holds it") {
  const auto named = [](auto f) {
    const auto lambda = [](int, auto) { return functionOf(); };
    return f(lambda);
  };
  CHECK(named([](auto inner) { return inner(1, 2); }).find("::<lambda>") != std::string::npos);
  struct Local {
    static std::string run() {
      return [] { return functionOf(); }();
    }
  };
  CHECK(Local::run() == "run::<lambda>");
}

TEST_CASE("A frame has the file from the repository's root and the line of the call") {
  const Frame frame = frameFrom(Where::current());
  const int line = __LINE__ - 1;
  CHECK(frame.file == "tests/graph/frame_test.cpp");
  CHECK(frame.line == line);
  CHECK_FALSE(frame.engine);
  CHECK(frameFrom(Where::current(), true).engine);
}

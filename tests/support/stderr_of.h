// What a test makes the library say to people.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/temp_dir.h"

namespace msdbg::test {

/// What f writes to file descriptor 2.
template <typename F>
std::string stderrOf(F&& f) {
  const TempDir folder;
  const auto path = folder / "stderr";
  const int saved = dup(2);
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  REQUIRE(file >= 0);
  dup2(file, 2);
  f();
  dup2(saved, 2);
  close(file);
  close(saved);
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace msdbg::test

// The programs that the README shows, as text: tests compile and run what a reader would copy.
#pragma once

#include <string>

namespace msdbg::test {

/// The first ```LANGUAGE block of README.md after a place that holds `marker`. Fails the test when there is
/// none.
std::string readmeBlock(const std::string& marker, const std::string& language);

}  // namespace msdbg::test

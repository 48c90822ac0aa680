// The programs that documents show, as text: tests compile and run what a reader would copy.
#pragma once

#include <string>

namespace msdbg::test {

/// The first ```LANGUAGE block of the document (README.md, a page of the guide) after a place that holds
/// `marker`. Fails the test when there is none.
std::string documentBlock(const std::string& document, const std::string& marker,
                          const std::string& language);

}  // namespace msdbg::test

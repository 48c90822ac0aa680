#include "tests/support/documents.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/support/run_command.h"

namespace msdbg::test {

std::string documentBlock(const std::string& document, const std::string& marker,
                          const std::string& language) {
  std::ifstream file(sourceDir() / document);
  std::stringstream read;
  read << file.rdbuf();
  const std::string text = read.str(), fence = "```" + language + "\n";
  const std::size_t at = text.find(marker);
  const std::size_t start = at == std::string::npos ? at : text.find(fence, at);
  const std::size_t end = start == std::string::npos ? start : text.find("\n```", start);
  if (end == std::string::npos)
    throw std::runtime_error(document + " has no " + language + " after " + marker);
  return text.substr(start + fence.size(), end - start - fence.size() + 1);
}

}  // namespace msdbg::test

#include "tests/support/temp_dir.h"

#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace msdbg::test {

TempDir::TempDir() {
  std::string name = std::filesystem::temp_directory_path() / "msdbg-test-XXXXXX";
  if (!mkdtemp(name.data())) throw std::system_error(errno, std::generic_category(), name);
  m_path = name;
}

TempDir::~TempDir() {
  std::error_code ignored;  // a test that made a folder unreadable has not failed by that
  std::filesystem::remove_all(m_path, ignored);
}

}  // namespace msdbg::test

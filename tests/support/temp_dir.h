// A folder for one test's files, removed with everything in it when the object dies. Not shared between
// threads.
#pragma once

#include <filesystem>
#include <string_view>

namespace msdbg::test {

class TempDir {
 public:
  // Makes a new folder under the system's temporary folder ($TMPDIR, else /tmp); throws if it cannot.
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return m_path; }
  std::filesystem::path operator/(std::string_view name) const { return m_path / name; }

 private:
  std::filesystem::path m_path;
};

}  // namespace msdbg::test

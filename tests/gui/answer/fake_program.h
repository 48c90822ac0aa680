// A script in the place of msdbg: the window finds it on PATH while this lives.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace msdbg::test {

class FakeProgram {
 public:
  /// `script`: for sh; "": PATH has no msdbg at all.
  explicit FakeProgram(const std::string& script) : m_before(std::getenv("PATH") ? std::getenv("PATH") : "") {
    if (!script.empty()) {
      std::ofstream(m_folder / "msdbg") << "#!/bin/sh\nPATH='" << m_before << "'\n" << script << "\n";
      std::filesystem::permissions(m_folder / "msdbg", std::filesystem::perms::owner_all);
    }
    setenv("PATH", m_folder.path().c_str(), 1);
  }
  ~FakeProgram() { setenv("PATH", m_before.c_str(), 1); }
  std::filesystem::path file(const char* name) const { return m_folder / name; }

 private:
  TempDir m_folder;
  std::string m_before;
};

}  // namespace msdbg::test

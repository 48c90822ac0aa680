// A variable of the environment for as long as this lives; then it is what it was.
#pragma once

#include <stdlib.h>

#include <optional>
#include <string>

namespace msdbg::test {

class Environment {
 public:
  Environment(std::string name, const std::string& value) : m_name(std::move(name)) {
    if (const char* before = getenv(m_name.c_str())) m_before = before;
    setenv(m_name.c_str(), value.c_str(), 1);
  }
  ~Environment() { m_before ? setenv(m_name.c_str(), m_before->c_str(), 1) : unsetenv(m_name.c_str()); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::string m_name;
  std::optional<std::string> m_before;
};

}  // namespace msdbg::test

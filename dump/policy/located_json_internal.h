// LocatedJson: JSON that a person wrote. Comments are allowed; every key knows its line, so that a mistake
// can say where it is. For dump's own .cpp files. A value.
#pragma once

#include <map>
#include <stdexcept>

#include "dump/json_internal.h"

namespace msdbg::dump {

/// Something is wrong with the value at a path ("/rules/0/every"). Thrown by readers, told by
/// LocatedJson::error().
class JsonMistake : public std::runtime_error {
 public:
  JsonMistake(std::string where, const std::string& what)
      : std::runtime_error(what), path(std::move(where)) {}
  std::string path;
};

class LocatedJson {
 public:
  /// kUsage: no JSON (line and column), no object, nested too deeply, or a key that is given twice (line).
  static core::Result<LocatedJson> parse(const std::string& text);
  const Json& root() const { return m_root; }
  /// "line 7: rules[0].every: …"
  core::Error error(const JsonMistake& mistake) const;

 private:
  Json m_root;
  std::map<std::string, int> m_lines;  // by path: of the key, or of the element's first character
};

}  // namespace msdbg::dump

#include "dump/codec/dataset_path.h"

#include "core_engine/base/text.h"

namespace msdbg::dump {
namespace {

std::string component(const std::string& part) {
  if (part.empty()) return "%";
  if (part == ".") return "%2E";
  std::string text;
  for (const char c : part) {
    if (c == '%')
      text += "%25";
    else if (c == '\0')
      text += "%00";
    else
      text += c;
  }
  return text;
}

}  // namespace

std::string datasetPath(std::string_view group, std::string_view name) {
  std::string path(group);
  for (const std::string& part : core::split(name, '/')) (path += '/') += component(part);
  return path;
}

}  // namespace msdbg::dump

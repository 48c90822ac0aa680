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

std::string scalarPath(std::string_view name) {
  std::string path = "/scalars/";
  for (const std::string& part : core::split(name, '/')) {
    if (path.back() != '/') path += "%2F";
    path += component(part);
  }
  return path;
}

std::string scalarName(std::string_view component) {
  std::string name;
  for (std::size_t i = 0; i < component.size(); ++i) {
    const std::string_view three = component.substr(i, 3);
    const bool slash = three == "%2F", percent = three == "%25";
    name += slash ? '/' : component[i];
    if (slash || percent) i += 2;
  }
  return name;
}

}  // namespace msdbg::dump

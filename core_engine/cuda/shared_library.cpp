#include "core_engine/cuda/shared_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>
#include <vector>

namespace msdbg::core::device {
namespace {

std::vector<std::string> placesOf(const std::string& file) {
  std::vector<std::string> places;
  if (const char* folders = std::getenv("MSDBG_CUDA_PATH")) {
    std::istringstream in(folders);
    for (std::string folder; std::getline(in, folder, ':');)
      if (!folder.empty()) places.push_back(folder + "/" + file);
  }
  places.push_back(file);
#ifdef MSDBG_CUDA_LIBRARY_DIR
  places.push_back(MSDBG_CUDA_LIBRARY_DIR "/" + file);
#endif
  return places;
}

}  // namespace

SharedLibrary::SharedLibrary(const std::string& file) : m_file(file) {
  for (const std::string& place : placesOf(file)) {
    m_handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (m_handle) {
      m_why.clear();
      return;
    }
    const char* error = dlerror();
    if (m_why.empty() || place == file) m_why = error ? error : "cannot open " + place;
  }
}

void* SharedLibrary::symbol(const char* name) {
  if (!m_handle) return nullptr;
  void* found = dlsym(m_handle, name);
  if (!found) m_why = m_file + " has no " + name;
  return found;
}

std::string versionText(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace msdbg::core::device

// A library of NVIDIA's that is opened when it is needed: a machine without it still has the rest of the
// device.
#pragma once

#include <cstddef>
#include <string>

/// The version that a header gives as a macro, in a file's name.
#define MSDBG_TEXT_OF(x) #x
#define MSDBG_TEXT(x) MSDBG_TEXT_OF(x)

namespace msdbg::core::device {

class SharedLibrary {
 public:
  /// "libcublasLt.so.13". Looked for in the folders of MSDBG_CUDA_PATH (separated by ':'), where the system
  /// looks, and in the toolkit this was built with. Never closed again: CUDA's libraries do not outlive it
  /// well.
  explicit SharedLibrary(const std::string& file);

  explicit operator bool() const { return m_handle != nullptr; }
  const std::string& why() const { return m_why; }  // why it is not open, or which function it lacks

  /// false: the library has no such function, or is not open.
  template <typename Function>
  bool find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

 private:
  void* symbol(const char* name);

  std::string m_file, m_why;
  void* m_handle = nullptr;
};

/// "13.1.0", as cuBLAS and cuDNN number their versions.
std::string versionText(std::size_t version);

}  // namespace msdbg::core::device

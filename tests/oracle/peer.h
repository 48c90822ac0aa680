// PyTorch as a reference: who runs it, and where the peer's models are.
#pragma once

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/run_command.h"

namespace msdbg::test {

inline std::filesystem::path peers() { return (sourceDir() / "../shared/peers").lexically_normal(); }

/// Debian's interpreter where it has PyTorch (python3-torch), else that of `./dev torch`; "" with a warning
/// where neither is there.
inline std::string pythonWithTorch() {
  if (!std::filesystem::exists(peers() / "torch_models.py")) {
    WARN("skipped: no " << peers() / "torch_models.py");
    return "";
  }
  const char* given = std::getenv("MSDBG_TORCH_VENV");
  const std::filesystem::path environment = given ? given : sourceDir() / "build/torch-venv";
  for (const std::string& python : {std::string("/usr/bin/python3"), (environment / "bin/python").string()})
    if (std::filesystem::exists(python) && runCommand({python, "-c", "import torch, numpy"}).exitStatus == 0)
      return python;
  WARN("skipped: neither /usr/bin/python3 (Debian: python3-torch) nor " << environment
                                                                        << " (./dev torch) has torch");
  return "";
}

/// "parameter", 3 -> "parameter_0003": a file of pytorch_steps.py.
inline std::string numbered(const std::string& stem, std::size_t i) {
  char text[32];
  std::snprintf(text, sizeof text, "_%04zu", i);
  return stem + text;
}

}  // namespace msdbg::test

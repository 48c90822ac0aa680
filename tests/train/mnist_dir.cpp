#include "tests/train/mnist_dir.h"

#include <cstdlib>
#include <filesystem>

namespace msdbg::test {

std::string mnistDir() {
  const char* wanted = std::getenv("MSDBG_MNIST_DIR");
  const std::string folder = wanted ? wanted : MSDBG_MNIST_DIR;
  for (const char* name : {"t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz"})
    if (std::filesystem::exists(std::filesystem::path(folder) / name)) return folder;
  return "";
}

}  // namespace msdbg::test

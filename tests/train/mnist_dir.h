// Where the real MNIST images are: $MSDBG_MNIST_DIR, else CMake's MSDBG_MNIST_DIR.
#pragma once

#include <string>

namespace msdbg::test {

std::string mnistDir();  // "" when they are not there

}  // namespace msdbg::test

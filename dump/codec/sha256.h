// SHA-256 of a source file's bytes, as 64 hexadecimal digits: the name of its copy in sources/. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace msdbg::dump {

std::string sha256(std::string_view bytes);

}  // namespace msdbg::dump

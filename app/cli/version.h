// What `msdbg --version` says: the version, and which optional parts are built in.
#pragma once

#include <string>

namespace msdbg::app {
class Engine;

std::string versionText(const Engine& engine);
}  // namespace msdbg::app

#include "core_engine/base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

namespace msdbg::core {
namespace {

bool wantsInfo() {
  const char* level = std::getenv("MSDBG_LOG");
  if (!level) return false;
  const std::string_view text = level;
  return text == "info" || text == "debug" || text == "trace";
}

std::unique_ptr<spdlog::logger> makeLogger(const char* pattern) {
  auto logger = std::make_unique<spdlog::logger>("msdbg", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(pattern);
  logger->set_level(wantsInfo() ? spdlog::level::info : spdlog::level::warn);
  logger->flush_on(spdlog::level::info);
  return logger;
}

void write(spdlog::logger& logger, spdlog::level::level_enum level, std::string_view message) {
  std::string line(message);
  std::replace(line.begin(), line.end(), '\n', ' ');
  logger.log(level, spdlog::string_view_t(line.data(), line.size()));
}

// Loggers are never destroyed: threads may still report while the program ends.
void log(spdlog::level::level_enum level, std::string_view message) {
  static spdlog::logger& logger = *makeLogger("msdbg: %l: %v").release();
  write(logger, level, message);
}

}  // namespace

void logSay(std::string_view message) {
  static spdlog::logger& logger = *makeLogger("msdbg: %v").release();
  write(logger, spdlog::level::err, message);
}
void logInfo(std::string_view message) { log(spdlog::level::info, message); }
void logWarn(std::string_view message) { log(spdlog::level::warn, message); }
void logError(std::string_view message) { log(spdlog::level::err, message); }

}  // namespace msdbg::core

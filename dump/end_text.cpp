#include "dump/end_text.h"

#include <string.h>

#include <regex>

namespace msdbg::dump {
namespace {

// " at NODE in iteration 5", " after iteration 5"; "" when it is not known.
std::string placeOf(const RunEnd& end) {
  if (!end.iteration) return {};
  const std::string iteration = "iteration " + std::to_string(*end.iteration);
  return end.node.empty() ? " after " + iteration : " at " + end.node + " in " + iteration;
}

bool saysPlace(const RunEnd& end) {
  return end.message.find("iteration ") != std::string::npos ||
         (!end.node.empty() && end.message.find(end.node) != std::string::npos);
}

}  // namespace

std::string signalText(int signal) {
  const char* name = sigabbrev_np(signal);
  return std::to_string(signal) + (name ? std::string(" (SIG") + name + ")" : std::string());
}

std::string rankName(core::Rank rank, int ranks) {
  return ranks == 1 ? "the program" : "rank " + std::to_string(rank.value);
}

std::string failureText(const RunEnd& end, core::Rank rank, int ranks) {
  const std::string name = rankName(rank, ranks);
  if (end.state == "failed" && !end.message.empty())
    return name + " failed" + (saysPlace(end) ? "" : placeOf(end)) + ": " + end.message;
  if (end.signal) return name + " was killed by signal " + signalText(*end.signal) + placeOf(end);
  if (end.exitStatus) return name + " ended with status " + std::to_string(*end.exitStatus) + placeOf(end);
  return name + " failed" + placeOf(end);
}

bool lostAnother(const std::string& message) {
  static const std::regex kWords(
      "gloo|NCCL|ncclRemote|DistBackendError|DistNetworkError|Connection (reset|closed|refused)|"
      "Broken pipe|TCPStore|remote (process|peer|worker)");
  return std::regex_search(message, kWords);
}

}  // namespace msdbg::dump

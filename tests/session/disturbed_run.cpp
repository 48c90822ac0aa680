#include "tests/session/disturbed_run.h"

namespace msdbg::test {

namespace fs = std::filesystem;

int count(const std::string& text, const std::string& what) {
  int found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

RunResult disturbed(const fs::path& folder, int ranks, const std::string& options, const std::string& act) {
  const std::string script = "cd " + folder.string() + " && { " + kMsdbg + " dump -o run.msdbg -n " +
                             std::to_string(ranks) + " --threads 1 " + options + " -- " + kProbe +
                             " slow --steps 35 & } && " + untilThere("run.msdbg/rank_0/segment_000000.h5") +
                             "{ " + act + "; }; wait $!";
  return runCommand({"bash", "-c", script});
}

std::string waiting(const std::string& then) {
  return "bash -c 'until [ -e go ]; do sleep 0.02; done; " + then + "'";
}

std::string untilThere(const std::string& file) { return "until [ -e " + file + " ]; do sleep 0.02; done; "; }

RunResult together(const fs::path& folder, const std::string& first, const std::string& file,
                   const std::string& then) {
  return runCommand(
      {"bash", "-c",
       "cd " + folder.string() + " && { " + first + " & }; " + untilThere(file) + then + "; wait $!"});
}

}  // namespace msdbg::test

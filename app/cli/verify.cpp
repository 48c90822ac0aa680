// msdbg verify: reads all of a run and checks every hash.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/progress.h"
#include "app/cli/run_access.h"
#include "app/cli/table.h"
#include "core_engine/base/text.h"
#include "replay/recompute_way.h"

namespace msdbg::app {
namespace {

// What damage leaves to be computed again, and what it costs.
struct Recomputable {
  std::vector<std::int64_t> left, lost;
};

Recomputable recomputableOf(const OpenedRun& run, bool damaged) {
  replay::RecomputeWays ways(*run.run);
  Recomputable found{ways.reachable(), {}};
  if (!damaged || found.left.empty()) return found;
  const std::vector<std::int64_t> promised = std::move(found.left);
  ways.readCheckpoints(*run.run);
  ways.readBatches(*run.run);
  found.left = ways.reachable();
  std::ranges::set_difference(promised, found.left, std::back_inserter(found.lost));
  return found;
}

void print(const Recomputable& recomputable) {
  if (recomputable.lost.empty()) return;
  fmt::print("Iterations {} cannot be computed again any more: what that needs is damaged. {}\n",
             core::formatRanges(recomputable.lost),
             recomputable.left.empty() ? "None can." : core::formatRanges(recomputable.left) + " still can.");
}

void print(const OpenedRun& run, const std::vector<replay::Damage>& damage, std::uint64_t bytes) {
  const std::string path = core::printable(run.path);
  if (damage.empty()) {
    fmt::print("{}: {} read, every hash is right\n", path, core::formatBytes(bytes));
    return;
  }
  fmt::print("{}: {}\n\n", path, counted(static_cast<std::int64_t>(damage.size()), "damaged place"));
  Table table({"where", "what", "rank", "lost iterations"});
  for (const replay::Damage& d : damage)
    table.row({d.where, d.what, d.rank.valid() ? std::to_string(d.rank.value) : "",
               d.iterations.empty() ? "none" : d.iterations.text()});
  fmt::print("{}\nThe rest of the run can be read.\n", table.text(2));
}

core::Result<int> verify(const std::string& path, const Context& context) {
  MSDBG_ASSIGN(const OpenedRun run, openRun(path));
  replay::Verifiable* const verifiable = run.run->verifiable();
  if (!verifiable)
    return core::Error(core::ErrorCode::kUnavailable,
                       run.path + ": a run of this format has no hashes to check");
  std::uint64_t bytes = 0;
  std::vector<replay::Damage> damage;
  {
    Progress progress;
    damage = verifiable->verify(context.cancel, [&](std::uint64_t done, std::uint64_t all) {
      bytes = done;
      progress.share("verifying", all ? static_cast<double>(done) / static_cast<double>(all) : 1);
    });
  }
  if (context.cancel.cancelled()) return cancelledError();
  const Recomputable recomputable = recomputableOf(run, !damage.empty());
  if (context.json) {
    Json json = document("verify");
    json["run"] = run.path;
    json["ok"] = damage.empty();
    json["recording"] = run.run->recording();
    json["bytes"] = bytes;
    json["damage"] = damageJson(damage);
    json["recomputable"] = core::formatRanges(recomputable.left);
    json["no_longer_recomputable"] = core::formatRanges(recomputable.lost);
    printJson(json);
  } else {
    print(run, damage, bytes);
    print(recomputable);
  }
  return damage.empty() ? kExitFine : kExitDamaged;
}

Command::Run setup(CLI::App& options, Context& context) {
  auto path = std::make_shared<std::string>();
  options.add_option("RUN", *path, "run folder (default: the newest *.msdbg here)");
  return [path, &context] { return verify(*path, context); };
}

}  // namespace

Command verifyCommand() {
  return {.name = "verify",
          .summary = "read everything of a run and check every hash",
          .examples =
              "  msdbg verify                     the newest run here\n"
              "  msdbg verify alexnet-1.msdbg --json\n",
          .setup = setup};
}

}  // namespace msdbg::app

// What `msdbg dump` is about to record, for people and as JSON. Main thread only.
#pragma once

#include <string>

#include "app/cli/dump_plan.h"
#include "app/cli/json_output.h"

namespace msdbg::app {

/// One line: how large the run will be, or can be.
std::string expectedText(const DumpPlan& plan);
/// The table of --dry-run: every rule with its tensors and bytes; only the rules where the graph is unknown.
std::string rulesTable(const DumpPlan& plan);
/// What thinning will leave of the statistics; "" where they fit.
std::string thinningText(const DumpPlan& plan);
/// Of a training that is like a run: which one, and what the whole recording of it leaves and does.
std::string likeText(const DumpPlan& plan);
std::string diskText(const DumpPlan& plan);  // whole lines
Json likeJson(const DumpPlan& plan);
/// What recording will ask of the file system each second.
std::string workText(const DumpPlan& plan);
/// Around which hits values are kept, and what of a recommended set only check can tell.
std::string onHitText(const dump::OnHit& onHit);
Json onHitJson(const dump::OnHit& onHit);  // null: not asked for
/// null where the graph is unknown.
Json expectedJson(const DumpPlan& plan);

}  // namespace msdbg::app

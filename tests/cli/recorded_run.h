// Small runs that the tests of the command line look at, recorded once per test program by msdbg itself, and
// removed at its end. One thread.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::test {

/// mlp, 2 ranks, 3 iterations: <temporary folder>/clean.msdbg. --no-replay, as the next two.
const std::filesystem::path& cleanRun();
const std::filesystem::path& faultyRun();  // the same with a NaN on rank 1 in iteration 1: …/faulty.msdbg
const std::filesystem::path& steepRun();   // … with a far too large rate in iteration 2: …/steep.msdbg
const std::filesystem::path& replayableRun();  // … with --policy record: …/replayable.msdbg
const std::filesystem::path& plantedRun();  // the NaN, with values, checkpoints and batches: …/planted.msdbg

/// Runs msdbg in the folder that holds them.
RunResult msdbg(const std::vector<std::string>& arguments);
/// The same, where status and stderr are as they should be; gives stdout as JSON.
nlohmann::ordered_json msdbgJson(std::vector<std::string> arguments, int exitStatus = 0);

/// A copy of a run that may be damaged.
std::filesystem::path copyOf(const std::filesystem::path& run, const TempDir& folder,
                             const std::string& name = "copy.msdbg");

/// Every key of a document with the type of its value, one a line; the elements of an array are told as one.
std::string keysOf(const nlohmann::ordered_json& json);
/// The text with all that differs between machines and builds taken out: numbers, hashes, paths, widths of
/// columns.
std::string shapeOf(const std::string& text);
/// Compares with tests/golden/cli/<name>; MSDBG_UPDATE_GOLDEN=1 writes it instead.
void checkGolden(const std::string& name, const std::string& text);

}  // namespace msdbg::test

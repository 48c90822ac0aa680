// Changes recorded runs as somebody would who knows the format: checks, sizes and hashes are put right, so
// that what was changed is what a reader gets to see. Throws what went wrong. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace msdbg::test {

/// Every line of the rank's journal, with its check made anew. A line becomes null: it is left out.
void patchJournal(const std::filesystem::path& rankFolder,
                  const std::function<void(nlohmann::ordered_json& line)>& change);
/// The file of the run's only graph.
std::filesystem::path graphFile(const std::filesystem::path& run);
/// Puts another graph in its place, under its name, and into the journals of all ranks.
void replaceGraph(const std::filesystem::path& run, const std::string& bytes);
/// The journal's lines get the sizes and hashes that the rank's segments have now.
void relistSegments(const std::filesystem::path& rankFolder);
/// Gives a tensor of the graph a dtype's number that no msdbg knows yet. The run's only graph; rank 0 has its
/// line.
void makeDTypeUnknown(const std::filesystem::path& run, const std::string& tensor, std::int32_t number);
/// Takes away the ranks' copies of run.json: that alone is read then.
void removeCopies(const std::filesystem::path& run);
/// run.json, with its check made anew, and without copies.
void patchRunInfo(const std::filesystem::path& run,
                  const std::function<void(nlohmann::ordered_json& info)>& change);

}  // namespace msdbg::test

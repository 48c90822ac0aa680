// One file into the folder of a run that is being built. Internal to dump/merge. Thread-safe.
#pragma once

#include "dump/merge/merge_plan_internal.h"

namespace msdbg::dump {

/// Copies, or links where `link` allows it, and makes it durable. `advanced` gets the bytes of each piece.
/// kIo, kCancelled; kUsage: it cannot be linked and must be.
enum class Linking { kNever, kWherePossible, kAlways };
core::Status placeFile(const std::filesystem::path& from, const std::filesystem::path& to, Linking linking,
                       const core::CancelToken& cancel, const std::function<void(std::uint64_t)>& advanced);

}  // namespace msdbg::dump

// HitVotes: tells every rank, at the end of an iteration, what hit on the others. One small sum over ranks,
// so all ranks know the same and decide the same in the same iteration, also when their folders lie on
// different machines. Training thread only; every rank calls it in every iteration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core_engine/ops/communicator.h"

namespace msdbg::dump {

struct HitVote {
  std::int64_t watchpoint = 0;  // index in the list that all ranks have
  std::int64_t order = -1;      // of the node in the rank's own graph; -1: of a source
  bool operator==(const HitVote&) const = default;
};

/// The first hit of each rank, by rank. Without communicator, or with one rank: this one's. Errors: of the
/// communicator.
core::Result<std::vector<std::optional<HitVote>>> exchangeVotes(core::Communicator* communicator,
                                                                const std::optional<HitVote>& mine);

/// What rank `from` says, on every rank: names are told, since ids are those of its own graph. Without
/// communicator: `mine`. Errors: of the communicator.
core::Result<std::string> textOfRank(core::Communicator* communicator, core::Rank from, std::string mine);

/// Refuses, on every rank that sees it, ranks that were started with different texts: they would not decide
/// the same. kUsage.
core::Status agreeOnText(core::Communicator& communicator, const std::string& text, const std::string& what);

}  // namespace msdbg::dump

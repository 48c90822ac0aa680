// The places that a command's text names, each with the rank and the iteration that its line is about. Pure,
// but for followLink(), which moves the cursor (UI thread).
#pragma once

#include <optional>

#include "app/presenters/findings/answer_links.h"

namespace msdbg::app {

struct PlacedLink {
  AnswerLink link;
  // Said by the line, else by the heading above it ("iteration 7, rank 0" alone in a line).
  std::optional<core::Iteration> iteration;
  std::optional<core::Rank> rank;
  bool isStep = false;  // what a step of a way is about: the first name after its number
};

/// In the order of the text, apart.
std::vector<PlacedLink> placedLinks(const QString& text, const core::Graph& graph);

/// The nodes of the way that the text goes, in its order, each once: of `msdbg why`, from what was asked for
/// to the cause. Empty: it goes none.
std::vector<core::NodeId> wayOf(const std::vector<PlacedLink>& links, const core::Graph& graph);

/// Moves the cursor there in one step of its history; false: that place is not in this run.
bool followLink(const PlacedLink& link, Document& document);

}  // namespace msdbg::app

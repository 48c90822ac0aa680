// ConditionDraft: a watchpoint while it is being written in a form: a condition and the text of its fields.
// A value; pure functions.
#pragma once

#include <QString>
#include <map>
#include <string>

#include "watchpoints/condition.h"

namespace msdbg::app {

struct ConditionDraft {
  const watch::ConditionDef* condition = nullptr;
  std::map<std::string, QString> fields;  // by parameter; empty: not given

  /// The watchpoint, or what is wrong with it, as `msdbg check -w` says it.
  /// With a graph also whether it has the tensors that are named.
  core::Result<watch::Watchpoint> watchpoint(const core::Graph* graph = nullptr) const;
  static ConditionDraft of(const watch::Watchpoint& watchpoint);
};

/// "0 or more"
QString rangeText(watch::ParameterType type);

}  // namespace msdbg::app

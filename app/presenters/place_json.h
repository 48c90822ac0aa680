// A place in a run as session.json keeps it. Nodes and tensors are kept by name, so that they are found again
// after the program was changed and recorded anew; what is gone is left out. Pure functions; thread-safe.
#pragma once

#include <QJsonObject>

#include "app/presenters/cursor.h"

namespace msdbg::app {

QJsonObject placeJson(const core::Graph& graph, const Place& place);
Place placeFrom(const core::Graph& graph, const QJsonObject& json);

}  // namespace msdbg::app

// What can be done with a place of the run: the context menu of a hit, a node or a tensor. Shared by the
// panels. UI thread only.
#pragma once

#include <QMenu>

#include "app/panels/panel.h"

namespace msdbg::app {

/// Adds the entries for the place; each acts on the document, or asks the window for a panel through
/// Panel::panelWanted. Entries that the place has nothing for are greyed.
void addPlaceActions(QMenu& menu, Panel& panel, Document& document, const Place& place);

}  // namespace msdbg::app

// The colours of source text on light and dark desktops. UI thread only.
#pragma once

#include <Qsci/qscilexer.h>

#include <string>

#include "graph_view/scene/look.h"

namespace msdbg::app {

/// C++ and Python by the path's ending; nullptr for anything else.
QsciLexer* lexerFor(const std::string& path, QObject* parent);
/// Font, background and a colour for each style of the lexer.
void colour(QsciLexer& lexer, const graphview::Look& look, const QFont& font);
/// The desktop's fixed font, in the size of its other text.
QFont sourceFont();
/// `share` of `over` on `under`.
QColor mixed(const QColor& under, const QColor& over, double share);

}  // namespace msdbg::app

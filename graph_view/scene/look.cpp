#include "graph_view/scene/look.h"

namespace msdbg::graphview {

using core::Phase;

// Ranks: the colour-blind safe palette of Okabe and Ito (2008), lightened or darkened for the background.
Look lookOf(const QPalette& palette) {
  Look look;
  look.background = palette.color(QPalette::Base);
  look.text = palette.color(QPalette::Text);
  look.dark = look.background.lightness() < 128;
  look.selection = palette.color(QPalette::Highlight);
  look.selectionFill = look.selection;
  look.selectionFill.setAlpha(look.dark ? 90 : 60);
  if (look.dark) {
    look.mutedText = "#a0a8b2", look.grid = "#3a4048", look.border = "#5a626d";
    look.fault = "#ff7b72", look.hint = "#e3b341", look.good = "#56d364";
    look.ranks = {"#58a6ff", "#f0883e", "#3fb9a0", "#d2a8ff", "#e3b341", "#ff9bce", "#8ddb8c", "#b0bac5"};
  } else {
    look.mutedText = "#59636e", look.grid = "#d9dee4", look.border = "#8c959f";
    look.fault = "#c4242b", look.hint = "#8a5a00", look.good = "#1a7f37";
    look.ranks = {"#0969da", "#bc4c00", "#00796b", "#8250df", "#8a6d00", "#bf3989", "#3a7d1f", "#57606a"};
  }
  return look;
}

QColor Look::phase(Phase phase) const {
  switch (phase) {
    case Phase::kForward:
      return dark ? "#16324f" : "#ddf0ff";
    case Phase::kBackward:
      return dark ? "#4a2b12" : "#ffe8d4";
    case Phase::kUpdate:
      return dark ? "#173d24" : "#dcf5e2";
    case Phase::kCollective:
      return dark ? "#3b2459" : "#efe4fd";
  }
  return background;
}

QColor Look::phaseMark(Phase phase) const {
  switch (phase) {
    case Phase::kForward:
      return dark ? "#58a6ff" : "#0969da";
    case Phase::kBackward:
      return dark ? "#f0883e" : "#bc4c00";
    case Phase::kUpdate:
      return dark ? "#56d364" : "#1a7f37";
    case Phase::kCollective:
      return dark ? "#d2a8ff" : "#8250df";
  }
  return border;
}

QColor Look::health(Health health) const {
  switch (health) {
    case Health::kFinite:
      return good;
    case Health::kAllZero:
      return hint;
    case Health::kInf:
      return dark ? "#ff9bce" : "#bf3989";
    case Health::kNan:
      return fault;
    case Health::kAbsent:
    case Health::kUnknown:
      break;
  }
  return border;
}

}  // namespace msdbg::graphview

#include "app/panels/builtin_panels.h"

namespace msdbg::app {

std::span<const PanelFactory> builtinPanels() {
  static constexpr std::span<const PanelFactory> kPanels = {};
  return kPanels;
}

}  // namespace msdbg::app

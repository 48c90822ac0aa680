#include "app/panels/builtin_panels.h"

namespace msdbg::app {

std::span<const PanelFactory> builtinPanels() {
  static constexpr PanelFactory kPanels[] = {graphPanel,    sourcePanel, modulesPanel,  searchPanel,
                                             findingsPanel, tensorPanel, timelinePanel, answerPanel};
  return kPanels;
}

}  // namespace msdbg::app

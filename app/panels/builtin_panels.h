// The factories of builtin_panels.cpp, one per folder of panels/.
#pragma once

#include "app/panels/panel.h"

namespace msdbg::app {

PanelDef answerPanel();
PanelDef findingsPanel();
PanelDef graphPanel();
PanelDef modulesPanel();
PanelDef searchPanel();
PanelDef sourcePanel();
PanelDef tensorPanel();
PanelDef timelinePanel();

}  // namespace msdbg::app

// A display of the test's own: Xvfb, started before the application is made, ended with the program.
#pragma once

#include <QApplication>

namespace msdbg::test {

/// The application on a new Xvfb display of 1600 x 1000; made at the first call. Settings and state of the
/// user are kept in a temporary folder. Throws where Xvfb cannot be started (packages.txt lists it).
QApplication& displayedGui();

}  // namespace msdbg::test

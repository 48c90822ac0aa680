// What every test of the window shares: an application without a display, and waiting.
#pragma once

#include <QApplication>
#include <functional>
#include <memory>

#include "app/presenters/document.h"

namespace msdbg::test {

/// The application, on the offscreen platform; made at the first call.
QApplication& gui();

/// Runs the event loop until the condition holds (at most `seconds`); whether it did.
bool eventually(const std::function<bool()>& condition, double seconds = 20);

/// An opened document; throws with the message when it cannot be opened.
std::unique_ptr<app::Document> openDocument(const std::filesystem::path& run);
/// Waits for every question that was asked of the document.
bool settle(app::Document& document);
/// Starts the check and waits for its report.
void check(app::Document& document);

}  // namespace msdbg::test

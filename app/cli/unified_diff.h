// The difference of two texts, line by line, as `diff -u` shows it. A pure function; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace msdbg::app {

/// "" where the texts are equal; else the two names, and hunks with three lines around every change.
std::string unifiedDiff(std::string_view before, std::string_view after, std::string_view nameBefore,
                        std::string_view nameAfter);

}  // namespace msdbg::app

// SegmentLineParser: reads the lines that a journal has hundreds of thousands of, those of segments, fast and
// without building anything. What it reads is what the general reading (dump/journal.cpp) makes of the same
// text; whatever is unusual it leaves to that. Internal to the journal. Not thread-safe.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "dump/journal.h"

namespace msdbg::dump {

/// Of a segment's iterations; and a line from outside must not make us take more memory.
inline constexpr std::uint64_t kMostIterations = 1 << 20;
/// Of a segment file, for each of its iterations: their number, their time and a flag.
inline constexpr std::uint64_t kLeastIterationBytes = 8 + 8 + 1;

/// A file name of the folder itself, never a path that leads out of it.
bool isPlainName(std::string_view name);
/// Its file has a plain name and room for so many iterations, and holds those that have a checkpoint or a
/// batch.
bool isPossible(const SegmentLine& line);

/// The line's number, file, what it replaces and what it follows, without reading the rest: most lines are
/// replaced by later ones. nullopt: it is not written as a recorder writes it. A reading of the whole line
/// finds the same, or fails.
std::optional<SegmentGlance> glanceAt(std::string_view object);

class SegmentLineParser {
 public:
  /// `object`: room for kPadding more bytes behind it. False: it is not the line of a segment or is written
  /// in an unusual manner; the rest is then of no use.
  bool parse(const std::string& object);
  SegmentLine& line() { return m_line; }
  bool isSensible() const { return m_sensible; }  // its lists of iterations are some
  const std::optional<std::string>& after() const { return m_after; }

  static constexpr std::size_t kPadding = simdjson::SIMDJSON_PADDING;

 private:
  bool takeValue(unsigned key, simdjson::ondemand::value value);
  bool takeSet(simdjson::ondemand::value value, core::IterationSet& iterations);

  simdjson::ondemand::parser m_parser;
  SegmentLine m_line;
  std::optional<std::string> m_after;
  bool m_sensible = true;
};

}  // namespace msdbg::dump

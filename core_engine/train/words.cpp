// Sentences that need no files: some words are common, others rare, a word follows its predecessor more often
// than chance would have it. Enough structure for a loss to fall.
#include <array>

#include "core_engine/base/philox.h"
#include "core_engine/train/text_loader_internal.h"

namespace msdbg::core {
namespace {

constexpr std::array<std::string_view, 48> kWords = {
    "the",   "a",      "of",     "and",    "to",     "in",     "is",     "it",    "that",  "was",
    "for",   "on",     "with",   "as",     "they",   "at",     "this",   "have",  "from",  "not",
    "word",  "what",   "when",   "can",    "there",  "use",    "each",   "which", "their", "water",
    "light", "every",  "number", "people", "would",  "river",  "stone",  "night", "under", "before",
    "house", "answer", "letter", "north",  "garden", "winter", "silver", "voice"};

/// The square makes the first words of the list common; half of the time a word's successor is fixed.
std::size_t nextWord(const RandomStream& random, std::uint64_t at, std::size_t before) {
  const double u = random.uniform(2 * at);
  if (random.uniform(2 * at + 1) < 0.5) return (before * 7 + 3) % kWords.size();
  return static_cast<std::size_t>(u * u * static_cast<double>(kWords.size()));
}

}  // namespace

std::string drawnWords(std::uint64_t seed, std::size_t bytes) {
  const RandomStream random(seed, "data/words", 0);
  std::string text;
  std::size_t word = 0, length = 0;
  for (std::uint64_t at = 0; text.size() < bytes; ++at) {
    word = nextWord(random, at, word);
    std::string spelled(kWords[word]);
    if (length == 0) spelled[0] = static_cast<char>(spelled[0] - 'a' + 'A');
    const bool ends = ++length >= 5 + random.bits(at) % 8;
    text += spelled + (ends ? ".\n" : " ");
    if (ends) length = 0;
  }
  return text;
}

}  // namespace msdbg::core

// A source as conditions and rules of blame read it: its graph in our terms (meaning.h), all else as it is.
// Lives no longer than what it reads. Not thread-safe, as a source is not.
#pragma once

#include <memory>

#include "watchpoints/source.h"

namespace msdbg::watch {

class TranslatedSource {
 public:
  explicit TranslatedSource(Source& source);
  ~TranslatedSource();
  TranslatedSource(const TranslatedSource&) = delete;
  TranslatedSource& operator=(const TranslatedSource&) = delete;

  /// The source itself where all its operators are ours.
  Source& operator*() const { return *m_read; }

 private:
  class Foreign;
  std::unique_ptr<Foreign> m_foreign;
  Source* m_read;
};

}  // namespace msdbg::watch

#include "replay/diff/comparison.h"

namespace msdbg::replay {

void Counts::add(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEqual:
      ++equal;
      break;
    case Verdict::kWithin:
      ++within;
      break;
    case Verdict::kDifferent:
      ++different;
      break;
    case Verdict::kUndecided:
      ++undecided;
      break;
    case Verdict::kUnknown:
      ++unknown;
      break;
    case Verdict::kByNature:
      ++byNature;
      break;
  }
}

Counts& Counts::operator+=(const Counts& more) {
  equal += more.equal;
  within += more.within;
  different += more.different;
  undecided += more.undecided;
  unknown += more.unknown;
  byNature += more.byNature;
  return *this;
}

}  // namespace msdbg::replay

#include "replay/diff/comparison.h"

namespace msdbg::replay {

void Counts::add(Agreement verdict) {
  switch (verdict) {
    case Agreement::kEqual:
      ++equal;
      break;
    case Agreement::kWithin:
      ++within;
      break;
    case Agreement::kDifferent:
      ++different;
      break;
    case Agreement::kUndecided:
      ++undecided;
      break;
    case Agreement::kUnknown:
      ++unknown;
      break;
    case Agreement::kByNature:
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

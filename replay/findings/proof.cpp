#include "replay/proof.h"

namespace msdbg::replay {

std::string verdictText(const Proof& proof) {
  if (proof.nothingCompared()) return "nothing that could be compared is recorded of these iterations";
  if (proof.equal() && !proof.damaged.empty())
    return "computed again, all that can be read is the recorded one; something stored is damaged";
  if (proof.equal() && proof.tensors == 0 && proof.digests == 0)
    return "computed again, they lead from each checkpoint to the values of the next; nothing else that "
           "could "
           "be compared is recorded";
  if (proof.equal()) return "computed again, every byte is the recorded one";
  if (proof.again == Again::kOther)
    return "a second computation differs from the first: what is computed here is not deterministic";
  if (!proof.otherHere.empty())
    return "this is another environment than the recorded one, so other bits prove nothing; look at how far "
           "the values are apart";
  if (!proof.mismatches.empty() && proof.mismatches.front().order < 0 && !proof.mismatches.front().hasHash())
    return "a checkpoint contradicts what training comes to from the one before it: an iteration in between "
           "went otherwise and nothing recorded of it tells, the program wrote to a value without telling, "
           "or "
           "the checkpoint is not what training had";
  if (!proof.mismatches.empty() && proof.mismatches.front().order < 0)
    return "a value that training carries is another than the one that it was left with: the program wrote "
           "to it "
           "without telling, or memory went wrong where it was recorded";
  if (proof.again == Again::kSame)
    return "a second computation agrees with the first, not with the recording: memory or hardware went "
           "wrong "
           "where it was recorded, or a fault was planted";
  return "what was recorded is not what is computed here";
}

}  // namespace msdbg::replay

// Values that left the graph and came back as a new tensor, of which nobody knows where its values are from:
// .tolist(), .item(), .numpy() and torch.tensor(). Used from one thread.
#pragma once

#include <optional>

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {

struct CopiedOut {
  core::TensorId source;    // the new tensor: a constant that has a part in the loss
  core::TensorId original;  // what it holds the values of, bit for bit, in the first two iterations
  std::string sentence;  // "main/mse_loss-op1/self holds the values of Net/out/addmm-op1, bit for bit, …"
};

/// Of tensors that have a part in what is trained on (`parts`, by index) and those that something is made
/// into
/// (`made`). nullopt: none; or the values do not vary, so that they may be equal by chance.
std::optional<CopiedOut> copiedOut(EvaluationContext& context, const std::vector<bool>& parts,
                                   const std::vector<bool>& made);

}  // namespace msdbg::watch

// torch.distributed's operators: of c10d (`allreduce_`) and of its functional form (`all_reduce`). The
// reduction is an attribute `reduce_op`, "sum" where there is none.
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

bool isSumOverRanks(const core::Node& node) {
  const auto found = node.attributes.find("reduce_op");
  const auto* name = found == node.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return found == node.attributes.end() || (name && (*name == "sum" || *name == "SUM"));
}

std::span<const Meaning> meanings() {
  static const std::vector<Meaning> rows = {
      {"all_reduce", "Allreduce", {0}, {}, isSumOverRanks},
      {"allreduce", "Allreduce", {0}, {}, isSumOverRanks},
  };
  return rows;
}

}  // namespace

DomainMeanings c10dMeanings() { return {"c10d", meanings}; }

}  // namespace msdbg::watch

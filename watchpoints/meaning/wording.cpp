#include "watchpoints/meaning/wording.h"

#include <algorithm>
#include <array>

namespace msdbg::watch {
namespace {

struct Phrase {
  std::string_view ours, torch;
};

// Longer ones before those that they contain.
constexpr Phrase kPhrases[] = {
    {"clip(x, 1e-7, …)", "x.clamp(min=1e-7)"},
    {"take logSoftmax of the logits, or a loss of logits, instead of log(softmax(x))",
     "take F.log_softmax of the logits, or give the logits to F.cross_entropy, instead of log(softmax(x))"},
    {"subtract the largest of each row first", "subtract the largest of each row first (torch.softmax does)"},
    {"use LeakyRelu", "use nn.LeakyReLU"},
    {"select with where()", "select with torch.where() or masked_fill()"},
    {"clip gradients", "clip gradients (torch.nn.utils.clip_grad_norm_)"},
    {"give Adam an epsilon, such as 1e-8", "give Adam eps=1e-8"},
    {"use a Sigmoid for one output", "use F.binary_cross_entropy_with_logits for one output"},
    {"run.shard(loader), or a loader seeded and cut by rank",
     "a DistributedSampler, with set_epoch() in every epoch, or data that are seeded and cut by rank"},
    {"(loadParameters)", "(load_state_dict)"},
    {"reshape(x, {B, T, H, D}), transpose(.., {0, 2, 1, 3})", "x.view(B, T, H, D).transpose(1, 2)"},
    {"relu(), tanh()", "F.relu(), torch.tanh()"},
    {"Give softmax() the axis", "Give softmax the dim"},
    {"greater(j, i) where the score gets -1e9 before the softmax",
     "scores.masked_fill(mask == 0, float('-inf')) with a torch.tril mask, or is_causal=True"},
    {"not(equal(x, 0)), or 1 - equal(x, 0)", "mask = tokens != 0"},
    {"oneHot()", "F.one_hot()"},
};

constexpr auto kTorchDomains =
    std::to_array<std::string_view>({"aten", "autograd", "torch", "torch.nn", "torch.optim"});

}  // namespace

bool isOfTorch(const core::Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const core::Node& node) {
    return std::ranges::find(kTorchDomains, node.domain) != kTorchDomains.end();
  });
}

std::string inTorchWords(std::string_view text) {
  std::string words(text);
  for (const Phrase& phrase : kPhrases)
    if (const std::size_t at = words.find(phrase.ours); at != std::string::npos)
      words.replace(at, phrase.ours.size(), phrase.torch);
  return words;
}

}  // namespace msdbg::watch

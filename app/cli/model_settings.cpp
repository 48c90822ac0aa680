#include "app/cli/model_settings.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace msdbg::app {

std::span<const SizeOption> sizeOptions() {
  static constexpr SizeOption kOptions[] = {
      {"--layers", "gpt: blocks (4)"},
      {"--heads", "gpt: heads of attention, a divisor of the width (8)"},
      {"--width", "gpt: numbers that stand for a position (256)"},
      {"--context", "gpt: bytes in a row, as far as it can look back (128)"},
      {"--vocabulary", "gpt: bytes of the text are below it (256)"}};
  return kOptions;
}

bool ModelSettings::givesModelOptions() const {
  const bool sized = std::ranges::any_of(sizeOptions(), [&](const auto& o) { return given(o) != 0; });
  return sized || batch || lr || dropout || precision || !data.empty();
}

std::int64_t ModelSettings::given(const SizeOption& option) const {
  const auto found = size.find(option.name);
  return found == size.end() ? 0 : found->second;
}

void ModelSettings::addOptions(CLI::App& app) {
  app.add_option(
         "--data", data,
         "images: digits (drawn, the default), mnist:DIR or cifar10:DIR, cifar10,flip,crop:DIR with random "
         "flips and crops; text: words (drawn, the default) or text:FILE")
      ->type_name("SPEC");
  app.add_option("--batch", batch, "rows of one iteration over all ranks (default: the model's)")
      ->type_name("N");
  app.add_option("--lr", lr, "learning rate (default: the model's)")->type_name("X");
  app.add_option("--dropout", dropout, "alexnet: dropout after its first two Gemms")->type_name("P");
  app.add_option("--precision", precision,
                 "mixed precision: products in bf16 or fp16 with sums in float32, parameters and the rest in "
                 "float32; with fp16 the loss is scaled (default: fp32)")
      ->type_name("fp32|bf16|fp16");
  for (const SizeOption& option : sizeOptions())
    app.add_option(std::string(option.name), size[option.name], std::string(option.doc))
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20));
}

void addBackendOption(CLI::App& app, std::optional<std::string>& backend) {
  app.add_option(
         "--backend", backend,
         "what computes: cpu, cuda (an NVIDIA GPU), emulated (a GPU's kernels on the CPU, for tests) or "
         "reference (slow); numbers differ in their last bits (cpu)")
      ->type_name("NAME")
      ->envname("MSDBG_BACKEND");
}

void PlanSettings::addOptions(CLI::App& app) {
  app.add_option(
         "--passes", passes,
         "passes over the plan, which change no number: -x,-y (all but these), x,y (these only), none, "
         "all (default: MSDBG_PASSES, else all)")
      ->type_name("LIST");
  app.add_option("--recompute", recompute,
                 "scopes of the forward pass (globs) whose activations are computed again for the backward "
                 "pass, not kept: less memory, more time, the same numbers (default: MSDBG_RECOMPUTE)")
      ->type_name("SCOPE")
      ->allow_extra_args(false);
}

}  // namespace msdbg::app

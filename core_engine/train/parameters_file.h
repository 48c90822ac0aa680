// Trained parameters on their own, without the optimizer's states: to go on elsewhere, or to begin with what
// another training made (a checkpoint of a recorded run is more: dump/session/restore.h). Parameters and the
// running values of normalisations, by full name. They throw std::runtime_error (what, where).
//   saveParameters(trainer, "net.safetensors");
//   loadParameters(trainer, "net.safetensors", {.only = "net/encoder/*"});  // before the first step, or any
//   time
#pragma once

#include <filesystem>
#include <string>

#include "core_engine/train/trainer.h"

namespace msdbg::core {

/// As a safetensors file (train/safetensors.h). Every rank may call it, rank 0 writes; running values are
/// rank 0's.
void saveParameters(const Trainer& trainer, const std::filesystem::path& path);

struct LoadOptions {
  std::string only = "*";  // a glob: which of them
};
/// All of the model whose name fits must be in the file with their dtype and shape, and no others that fit;
/// throws, and changes nothing, else. Iteration and optimizer states stay as they are.
void loadParameters(Trainer& trainer, const std::filesystem::path& path, const LoadOptions& options = {});

}  // namespace msdbg::core

#include "core_engine/train/npy.h"

#include "core_engine/train/zip_file_internal.h"

namespace msdbg::core {
namespace {

Result<Arrays> readArchive(const FileBytes& file) {
  MSDBG_ASSIGN(const std::vector<ZipMember> members, zipMembers(file));
  Arrays arrays;
  for (const ZipMember& member : members) {
    const std::string name =
        member.name.ends_with(".npy") ? member.name.substr(0, member.name.size() - 4) : member.name;
    const Result<std::string> bytes = readZipMember(file, member);
    Result<Tensor> values = bytes.ok() ? npyTensor(*bytes) : bytes.error();
    if (!values.ok()) return values.error().in(name);
    arrays.emplace_back(name, *std::move(values));
  }
  if (arrays.empty()) return Error(ErrorCode::kDamaged, "holds no arrays");
  return arrays;
}

}  // namespace

Result<Arrays> readNpz(const std::filesystem::path& path) {
  MSDBG_ASSIGN(const FileBytes file, FileBytes::open(path));
  Result<Arrays> arrays = readArchive(file);
  if (!arrays.ok()) return arrays.error().in(path.string());
  return arrays;
}

}  // namespace msdbg::core

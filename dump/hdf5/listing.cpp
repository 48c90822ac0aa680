#include "dump/hdf5/hdf5_internal.h"

namespace msdbg::dump::hdf5 {
namespace {

constexpr int kDeepest = 32;  // groups in each other

struct Listing {
  std::size_t most;  // links that are looked at: a group may hold itself
  std::vector<std::string> datasets;
};

herr_t addName(hid_t, const char* name, const H5L_info_t* link, void* into) {
  auto& names = *static_cast<std::vector<std::string>*>(into);
  if (link->type == H5L_TYPE_HARD) names.emplace_back(name);
  return 0;
}

core::Status add(Listing& listing, hid_t group, const std::string& path, int depth) {
  std::vector<std::string> names;
  hsize_t next = 0;
  MSDBG_TRY(MSDBG_H5(H5Literate, group, H5_INDEX_NAME, H5_ITER_INC, &next, addName, &names));
  for (const std::string& name : names) {
    if (listing.most == 0) return core::Ok{};
    --listing.most;
    H5O_info_t info;
    MSDBG_TRY(
        MSDBG_H5(H5Oget_info_by_name2, group, name.c_str(), &info, unsigned{H5O_INFO_BASIC}, H5P_DEFAULT));
    if (info.type == H5O_TYPE_DATASET) listing.datasets.push_back(path + name);
    if (info.type != H5O_TYPE_GROUP || depth == kDeepest) continue;
    MSDBG_ASSIGN(const Handle below, owned(MSDBG_H5(H5Gopen2, group, name.c_str(), H5P_DEFAULT), H5Gclose));
    MSDBG_TRY(add(listing, below.id(), path + name + "/", depth + 1));
  }
  return core::Ok{};
}

}  // namespace

core::Result<std::vector<std::string>> datasetsBelow(hid_t group, std::size_t most) {
  Listing listing{most, {}};
  MSDBG_TRY(add(listing, group, "", 1));
  return std::move(listing.datasets);
}

}  // namespace msdbg::dump::hdf5

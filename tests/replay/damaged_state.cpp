#include "tests/replay/damaged_state.h"

#include <hdf5.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <vector>

namespace msdbg::test {

namespace fs = std::filesystem;

namespace {

std::vector<std::int64_t> iterationsOf(hid_t dataset) {
  const hid_t attribute = H5Aopen(dataset, "iterations", H5P_DEFAULT);
  const hid_t space = H5Aget_space(attribute);
  std::vector<std::int64_t> iterations(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  H5Aread(attribute, H5T_NATIVE_INT64, iterations.data());
  H5Sclose(space);
  H5Aclose(attribute);
  return iterations;
}

// In the middle of the chunk that holds the row.
haddr_t placeOf(hid_t dataset, hsize_t row) {
  const hid_t space = H5Dget_space(dataset);
  hsize_t chunks = 0;
  H5Dget_num_chunks(dataset, space, &chunks);
  haddr_t place = 0;
  hsize_t before = 0;
  for (hsize_t i = 0; i < chunks; ++i) {
    hsize_t offset[8] = {}, size = 0;
    unsigned mask = 0;
    haddr_t address = 0;
    H5Dget_chunk_info(dataset, space, i, offset, &mask, &address, &size);
    if (offset[0] <= row && offset[0] >= before) place = address + size / 2, before = offset[0];
  }
  H5Sclose(space);
  return place;
}

std::optional<haddr_t> placeIn(const fs::path& segment, const std::string& path, std::int64_t iteration) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);  // as the run's reader opens it, which may have it open
  H5Pset_file_locking(access, false, true);
  const hid_t file = H5Fopen(segment.c_str(), H5F_ACC_RDONLY, access);
  H5Pclose(access);
  std::optional<haddr_t> place;
  if (H5Lexists(file, "/state", H5P_DEFAULT) > 0) {
    const hid_t dataset = H5Dopen2(file, path.c_str(), H5P_DEFAULT);
    const std::vector<std::int64_t> iterations =
        dataset >= 0 ? iterationsOf(dataset) : std::vector<std::int64_t>();
    const auto row = std::ranges::find(iterations, iteration);
    if (row != iterations.end()) place = placeOf(dataset, static_cast<hsize_t>(row - iterations.begin()));
    if (dataset >= 0) H5Dclose(dataset);
  }
  H5Fclose(file);
  return place;
}

}  // namespace

void damageState(const fs::path& run, int rank, const std::string& tensor, std::int64_t iteration) {
  for (const auto& entry : fs::directory_iterator(run / ("rank_" + std::to_string(rank)))) {
    if (entry.path().extension() != ".h5") continue;
    const std::optional<haddr_t> place = placeIn(entry.path(), "/state/" + tensor, iteration);
    if (!place) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(*place));
    const char was = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(*place));
    file.put(static_cast<char>(was ^ 0x10));
    return;
  }
  throw std::runtime_error("no checkpoint of iteration " + std::to_string(iteration) + " holds " + tensor);
}

}  // namespace msdbg::test

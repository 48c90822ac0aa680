// Segments made by somebody who means harm: valid HDF5, right checks and hashes in the journal, and contents
// that ask for memory, for other files or for ever. Each is refused in one line, in little memory; the other
// segments are read as if nothing were wrong.
#include <hdf5.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "core_engine/graph/graph_io.h"
#include "dump/codec/codec.h"
#include "dump/codec/file_hash.h"
#include "dump/hdf5/zstd_filter.h"
#include "tests/dump/patched_run.h"
#include "tests/dump/recorded_run.h"
#include "tests/support/sampling.h"
#include "tests/support/small_process.h"

using namespace msdbg;
namespace fs = std::filesystem;

namespace {

constexpr const char* kTensor = "/tensor/network/x:0";  // float32 [8, 4]
constexpr const char* kScalar = "/scalars/loss";
using Dims = std::vector<hsize_t>;

void must(herr_t result, const char* what) {
  if (result < 0) throw std::runtime_error(what);
}

hid_t properties() { return H5Pcreate(H5P_DATASET_CREATE); }

hid_t chunked(const Dims& chunk) {
  const hid_t list = properties();
  must(H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data()), "H5Pset_chunk");
  return list;
}

/// Puts a dataset in the place of another; its attribute `iterations` says 1.
hid_t replace(hid_t file, const std::string& path, hid_t type, hid_t space, hid_t list) {
  H5Ldelete(file, path.c_str(), H5P_DEFAULT);
  const hid_t dataset = H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  must(static_cast<herr_t>(dataset), "H5Dcreate2");
  const std::int64_t iteration = 1;
  const hsize_t one = 1;
  const hid_t scalar = H5Screate_simple(1, &one, nullptr);
  const hid_t attribute = H5Acreate2(dataset, "iterations", H5T_STD_I64LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
  must(H5Awrite(attribute, H5T_NATIVE_INT64, &iteration), "H5Awrite");
  H5Aclose(attribute);
  H5Sclose(scalar);
  return dataset;
}

hid_t replace(hid_t file, const std::string& path, hid_t type, const Dims& dims, hid_t list) {
  return replace(file, path, type, H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
                 list);
}

void putHashes(hid_t file, const std::string& path, const std::vector<core::Hash128>& hashes) {
  const hid_t dataset = replace(file, "/checksum" + path, H5T_STD_U64LE, Dims{hashes.size(), 2}, H5P_DEFAULT);
  must(H5Dwrite(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, hashes.data()), "H5Dwrite");
  H5Dclose(dataset);
}

/// The tensor as one filtered chunk of 128 bytes that is stored as these bytes; their hash is right.
void putFrame(hid_t file, std::vector<std::byte> frame, unsigned filter = dump::hdf5::kZstdFilter) {
  const hid_t list = chunked({1, 8, 4});
  H5Pset_shuffle(list);
  must(H5Pset_filter(list, static_cast<H5Z_filter_t>(filter), H5Z_FLAG_OPTIONAL, 0, nullptr),
       "H5Pset_filter");
  const hid_t dataset = replace(file, kTensor, H5T_IEEE_F32LE, Dims{1, 8, 4}, list);
  const hsize_t start[] = {0, 0, 0};
  must(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, start, frame.size(), frame.data()), "H5Dwrite_chunk");
  H5Dclose(dataset);
  putHashes(file, kTensor, {core::hashBytes(frame)});
}

std::vector<std::byte> bytesOf(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// A zstd frame whose header says 2^40 bytes, with one empty block.
const auto kTerabyteFrame = bytesOf({0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0x58, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0});
// A frame of a single segment that says 128 bytes; its block repeats one byte 128 KiB times.
const auto kBomb = bytesOf({0x28, 0xb5, 0x2f, 0xfd, 0x20, 128, 0x03, 0x00, 0x10, 0x00});

void putNumbers(hid_t object, const char* name, hid_t type, hid_t space) {
  H5Adelete(object, name);
  const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  must(static_cast<herr_t>(attribute), "H5Acreate2");
  H5Aclose(attribute);
}

void putNumbersOfTensor(hid_t file, hid_t type, hid_t space) {
  const hid_t dataset = H5Dopen2(file, kTensor, H5P_DEFAULT);
  putNumbers(dataset, "iterations", type, space);
  H5Dclose(dataset);
}

hid_t line(hsize_t length) { return H5Screate_simple(1, &length, nullptr); }

hid_t variableText() {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  return type;
}

void linkOut(hid_t file, const fs::path& outside) {
  H5Ldelete(file, kTensor, H5P_DEFAULT);
  must(H5Lcreate_external(outside.c_str(), kTensor, file, kTensor, H5P_DEFAULT, H5P_DEFAULT),
       "external link");
}

void virtualTensor(hid_t file, const fs::path& outside) {
  const Dims dims = {1, 8, 4};
  const hid_t space = H5Screate_simple(3, dims.data(), nullptr), list = properties();
  must(H5Pset_virtual(list, space, outside.c_str(), kTensor, space), "H5Pset_virtual");
  H5Dclose(replace(file, kTensor, H5T_IEEE_F32LE, dims, list));
}

// The bytes of another file as the value of a scalar; the hash of those bytes is public.
void externalScalar(hid_t file, const fs::path& outside) {
  std::ofstream(outside) << "secret!!";
  const hid_t list = properties();
  must(H5Pset_external(list, outside.c_str(), 0, 8), "H5Pset_external");
  H5Dclose(replace(file, kScalar, H5T_IEEE_F64LE, Dims{1}, list));
  putHashes(file, kScalar, {core::hashBytes(std::as_bytes(std::span("secret!!", 8)))});
}

// Two ways round and round, and a stair of a thousand groups.
void labyrinth(hid_t file) {
  for (const char* loop : {"/scalars/a", "/scalars/b"})
    must(H5Lcreate_hard(file, "/scalars", file, loop, H5P_DEFAULT, H5P_DEFAULT), "H5Lcreate_hard");
  std::string path = "/scalars";
  for (int depth = 0; depth < 1000; ++depth)
    H5Gclose(H5Gcreate2(file, (path += "/g").c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

void sameNames(hid_t file) {
  const hid_t dataset = H5Dopen2(file, "/statistics/tensor", H5P_DEFAULT);
  const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
  std::vector<char> names(H5Tget_size(type) * static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)),
                          'a');
  must(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, names.data()), "H5Dwrite");
  H5Dclose(dataset);
  putHashes(file, "/statistics/tensor", {core::hashBytes(std::as_bytes(std::span(names)))});
}

void groupAt(hid_t file, const char* path) {
  H5Ldelete(file, path, H5P_DEFAULT);
  H5Gclose(H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

struct Attack {
  const char* name;
  std::function<void(hid_t file, const fs::path& outside)> make;
  const char* says;  // a part of what is listed as damage
};

// Closing is left to the end of the process that makes them: H5Fclose with strong closing.
const Attack kAttacks[] = {
    {"extents of a terabyte",
     [](hid_t f, auto&) {
       replace(f, kTensor, H5T_IEEE_F32LE, Dims{1, 1 << 20, 1 << 18}, chunked({1, 16, 1 << 18}));
     },
     "do not fit the graph's shape"},
    {"a chunk that was never written",
     [](hid_t f, auto&) {
       replace(f, kTensor, H5T_IEEE_F32LE, Dims{1, 8, 4}, chunked({1, 8, 4}));
     },
     "chunk 0 has an impossible size"},
    {"chunks larger than the dataset",
     [](hid_t f, auto&) {
       const Dims dims = {1, 8, 4}, most = {H5S_UNLIMITED, H5S_UNLIMITED, H5S_UNLIMITED};
       replace(f, kTensor, H5T_IEEE_F32LE, H5Screate_simple(3, dims.data(), most.data()),
               chunked({1 << 10, 1 << 10, 512}));
     },
     "impossible extents"},
    {"a frame of a terabyte", [](hid_t f, auto&) { putFrame(f, kTerabyteFrame); }, "a frame of another size"},
    {"a frame that grows beyond what it says", [](hid_t f, auto&) { putFrame(f, kBomb); },
     "zstd cannot decode it"},
    {"no frame at all",
     [](hid_t f, auto&) {
       putFrame(f, bytesOf({1, 2, 3}));
     },
     "a frame of another size"},
    {"a filter that is not ours", [](hid_t f, auto&) { putFrame(f, kBomb, 40000); }, "filtered in a way"},
    {"a virtual dataset", [](hid_t f, auto& outside) { virtualTensor(f, outside); }, "in other files"},
    {"a scalar in another file", [](hid_t f, auto& outside) { externalScalar(f, outside); },
     "in other files"},
    {"a link to a pipe",
     [](hid_t f, auto& outside) {
       must(mkfifo(outside.c_str(), 0600), "mkfifo");
       linkOut(f, outside);
     },
     "network/x:0 is a link"},
    {"a soft link",
     [](hid_t f, auto&) {
       H5Ldelete(f, kTensor, H5P_DEFAULT);
       H5Lcreate_soft("/tensor/network/wide:0", f, kTensor, H5P_DEFAULT, H5P_DEFAULT);
     },
     "network/x:0 is a link"},
    {"a group that is a link",
     [](hid_t f, auto&) {
       H5Lmove(f, "/tensor/network", f, "/elsewhere", H5P_DEFAULT, H5P_DEFAULT);
       H5Lcreate_soft("/elsewhere", f, "/tensor/network", H5P_DEFAULT, H5P_DEFAULT);
     },
     "/tensor/network is a link"},
    {"groups in themselves and very deep", [](hid_t f, auto&) { labyrinth(f); }, "it is missing"},
    {"2^50 names",
     [](hid_t f, auto&) { replace(f, "/statistics/tensor", H5T_C_S1, Dims{1ull << 50}, H5P_DEFAULT); },
     "/statistics/tensor: impossible extents"},
    {"names of a gigabyte",
     [](hid_t f, auto&) {
       const hid_t type = H5Tcopy(H5T_C_S1);
       H5Tset_size(type, 1u << 30);
       replace(f, "/statistics/tensor", type, Dims{1}, H5P_DEFAULT);
     },
     "/statistics/tensor: not names"},
    {"names of any length",
     [](hid_t f, auto&) { replace(f, "/statistics/tensor", variableText(), Dims{3}, H5P_DEFAULT); },
     "/statistics/tensor: not names"},
    {"one name for all", [](hid_t f, auto&) { sameNames(f); }, "a name is there twice"},
    {"a column of 2^50 rows",
     [](hid_t f, auto&) {
       replace(f, "/statistics/mean", H5T_IEEE_F64LE, Dims{1ull << 50, 12}, H5P_DEFAULT);
     },
     "/statistics/mean: unexpected extents"},
    {"2^50 iterations",
     [](hid_t f, auto&) { replace(f, "/iteration/number", H5T_STD_I64LE, Dims{1ull << 50}, H5P_DEFAULT); },
     "too many iterations"},
    {"iterations in two dimensions",
     [](hid_t f, auto&) {
       replace(f, "/iteration/number", H5T_STD_I64LE, Dims{1, 1}, H5P_DEFAULT);
     },
     "/iteration/number: unexpected extents"},
    {"no dimensions",
     [](hid_t f, auto&) { replace(f, "/iteration/number", H5T_STD_I64LE, H5Screate(H5S_NULL), H5P_DEFAULT); },
     "/iteration/number"},
    {"a million numbers in an attribute",
     [](hid_t f, auto&) { putNumbersOfTensor(f, H5T_STD_I64LE, line(1 << 20)); },
     "attribute iterations has an unexpected type or length"},
    {"numbers that are texts", [](hid_t f, auto&) { putNumbersOfTensor(f, variableText(), line(1)); },
     "attribute iterations has an unexpected type or length"},
    {"numbers of nothing", [](hid_t f, auto&) { putNumbersOfTensor(f, H5T_STD_I64LE, H5Screate(H5S_NULL)); },
     "attribute iterations has an unexpected type or length"},
    {"big-endian numbers",
     [](hid_t f, auto&) {
       replace(f, kTensor, H5T_IEEE_F32BE, Dims{1, 8, 4}, chunked({1, 8, 4}));
     },
     "network/x:0: chunk 0 has an impossible size"},  // unsupported, were they there: dtypes_test.cpp
    {"whole numbers",
     [](hid_t f, auto&) {
       replace(f, kTensor, H5T_STD_I32LE, Dims{1, 8, 4}, chunked({1, 8, 4}));
     },
     "network/x:0: stored as int32, not as float32"},
    {"bytes of no dtype",
     [](hid_t f, auto&) {
       replace(f, kTensor, H5T_STD_U8LE, Dims{1, 8, 4}, chunked({1, 8, 4}));
       const hid_t tensor = H5Dopen2(f, kTensor, H5P_DEFAULT);
       H5Acreate2(tensor, "dtype", variableText(), line(1), H5P_DEFAULT, H5P_DEFAULT);
     },
     "network/x:0: attribute dtype is no short text"},
    {"elements of any length",
     [](hid_t f, auto&) {
       replace(f, kTensor, H5Tvlen_create(H5T_IEEE_F32LE), Dims{1, 8, 4}, chunked({1, 8, 4}));
     },
     "network/x:0"},
    {"a group where a tensor should be", [](hid_t f, auto&) { groupAt(f, kTensor); }, "network/x:0"},
    {"a type where a tensor should be",
     [](hid_t f, auto&) {
       H5Ldelete(f, kTensor, H5P_DEFAULT);
       H5Tcommit2(f, kTensor, H5Tcopy(H5T_IEEE_F32LE), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
     },
     "network/x:0"},
    {"compressed hashes",
     [](hid_t f, auto&) {
       const hid_t list = chunked({1 << 24, 2});
       const Dims dims = {1, 2}, most = {H5S_UNLIMITED, 2};
       replace(f, std::string("/checksum") + kTensor, H5T_STD_U64LE,
               H5Screate_simple(2, dims.data(), most.data()), list);
     },
     "not stored in one piece"},
    {"another rank's segment",
     [](hid_t f, auto&) {
       H5Adelete(f, "rank");
       const std::int64_t seven = 7;
       const hid_t attribute = H5Acreate2(f, "rank", H5T_STD_I64LE, line(1), H5P_DEFAULT, H5P_DEFAULT);
       H5Awrite(attribute, H5T_NATIVE_INT64, &seven);
     },
     "a segment of rank 7"},
    {"no version", [](hid_t f, auto&) { H5Adelete(f, "version"); }, "H5Aopen failed"},
};

void change(const fs::path& segment, const Attack& attack, const fs::path& outside) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  const hid_t file = H5Fopen(segment.c_str(), H5F_ACC_RDWR, access);
  must(static_cast<herr_t>(file), "H5Fopen");
  attack.make(file, outside);
  must(H5Fclose(file), "H5Fclose");
}

// All that is asked of a run. "" or the first thing that is not as it should be.
std::string judge(const fs::path& run, const std::string& says) {
  const auto reader = dump::RunReader::open(run);
  if (!reader.ok()) return "not opened: " + reader.error().message();
  for (const std::int64_t whole : {0, 2}) {
    if (std::string difference = test::firstDifference(**reader, 0, whole); !difference.empty())
      return difference;
  }
  for (const auto& tensor : (*reader)->graph().tensors()) {
    const auto value = (*reader)->tensor(core::Rank(0), core::Iteration(1), tensor.id);
    if (value.ok() && core::hashTensor(*value) != core::hashTensor(test::valueOf(tensor, 1)))
      return "a wrong number of " + tensor.fullName();
    (void)(*reader)->statistics(core::Rank(0), core::Iteration(1), tensor.id);
  }
  (void)(*reader)->scalar(core::Rank(0), core::Iteration(1), "loss");
  std::string found;
  for (const dump::Damage& damage : (*reader)->verify({}, {})) {
    const std::string text = damage.where + ": " + damage.what;
    if (text.find('\n') != std::string::npos) return "more than a line: " + text;
    if (!text.starts_with("rank_0/segment_000001.h5")) return "of another file: " + text;
    found += text + "\n";
  }
  return found.find(says) != std::string::npos ? ""
                                               : "does not say '" + says + "' but: " + found.substr(0, 300);
}

}  // namespace

// A third of the attacks, drawn; all of them by `./dev test all`.
TEST_CASE("A hostile segment is refused in one line, within little memory, and the others are read") {
  const test::TempDir folder;
  test::record(folder / "original", test::smallGraph(), {}, {.iterations = 3, .commitEach = true});
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  std::mt19937_64 random(test::drawnSeed("attacks"));
  for (const Attack& attack : kAttacks) {
    if (random() % 3 != 0 && !test::testAll()) continue;
    CAPTURE(attack.name);
    const test::TempDir place;
    fs::copy(folder / "original", place / "run", fs::copy_options::recursive);
    change(place / "run/rank_0/segment_000001.h5", attack, place / "outside");
    test::relistSegments(place / "run/rank_0");
    CHECK(test::inSmallProcess([&] { return judge(place / "run", attack.says); }) == "");
    // Without a journal the file speaks for itself.
    fs::remove(place / "run/rank_0/journal");
    CHECK(test::inSmallProcess([&]() -> std::string {
            auto reader = dump::RunReader::open(place / "run");
            if (!reader.ok()) return reader.error().message();
            (void)(*reader)->verify({}, {});
            return test::firstDifference(**reader, 0, 2);
          }) == "");
  }
}

TEST_CASE("A file of some kilobytes that claims a terabyte takes no memory") {
  const test::TempDir folder;
  core::Graph graph = test::smallGraph();
  test::record(folder / "run", graph, {}, {.iterations = 3, .commitEach = true});
  core::TensorInfo huge;
  huge.name = "network/huge";
  huge.role = core::TensorRole::kConstant;
  for (const hsize_t rows :
       {hsize_t{1} << 20, hsize_t{1} << 14}) {  // a terabyte; 16 GiB in few enough chunks
    core::Graph larger = graph;
    huge.shape = {static_cast<std::int64_t>(rows), 1 << 18};
    const auto id = larger.addSource(huge);
    test::replaceGraph(folder / "run", core::serializeGraph(larger));
    const Attack attack = {
        "",
        [&](hid_t f, auto&) {
          const std::string path = "/tensor/network/huge:0";
          replace(f, path, H5T_IEEE_F32LE, Dims{1, rows, 1 << 18}, chunked({1, 16, 1 << 18}));
          replace(f, "/checksum" + path, H5T_STD_U64LE, Dims{rows / 16, 2}, H5P_DEFAULT);
        },
        ""};
    change(folder / "run/rank_0/segment_000001.h5", attack, "");
    test::relistSegments(folder / "run/rank_0");
    CHECK(fs::file_size(folder / "run/rank_0/segment_000001.h5") < 1'000'000);
    CHECK(test::inSmallProcess([&]() -> std::string {
            auto reader = dump::RunReader::open(folder / "run");
            if (!reader.ok()) return reader.error().message();
            const auto value = (*reader)->tensor(core::Rank(0), core::Iteration(1), id);
            if (value.ok()) return "it was read";
            const std::string text = value.error().message();
            const bool refused = text.find("more chunks than the file can hold") != std::string::npos ||
                                 text.find("impossible size") != std::string::npos;
            return refused ? "" : text;
          }) == "");
  }
}

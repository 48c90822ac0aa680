#include "dump/writer/segment_image.h"

#include <algorithm>
#include <set>

namespace msdbg::dump {
namespace {

// Where pieces begin and end: there they may share a block with what the file had before.
std::set<std::uint64_t> bordersOf(const SegmentImage& image) {
  std::set<std::uint64_t> blocks;
  for (const SegmentImage::Piece& piece : image.pieces) {
    if (piece.bytes.empty()) continue;
    blocks.insert(piece.offset / core::kBlockBytes);
    blocks.insert((piece.offset + piece.bytes.size() - 1) / core::kBlockBytes);
  }
  return blocks;
}

// Most blocks are known from their chunks; of the others what lies in the file is read back.
core::Result<core::Hash128> hashOf(const RowFile& file, const SegmentImage& image) {
  std::vector<core::Hash128> blocks((image.size + core::kBlockBytes - 1) / core::kBlockBytes);
  std::vector<std::byte> block(core::kBlockBytes);
  std::uint64_t readBytes = 0;
  const auto start = StageClock::Clock::now();
  const std::set<std::uint64_t> touched = bordersOf(image);
  for (std::uint64_t i = 0; i < blocks.size(); ++i) {
    if (const auto at = image.known.find(i); at != image.known.end()) {
      blocks[i] = at->second;
      continue;
    }
    if (const auto at = file.knownBlocks().find(i); at != file.knownBlocks().end() && !touched.contains(i)) {
      blocks[i] = at->second;
      continue;
    }
    const std::uint64_t first = i * core::kBlockBytes;
    const std::span<std::byte> part =
        std::span(block).first(std::min<std::uint64_t>(core::kBlockBytes, image.size - first));
    MSDBG_TRY(file.read(first, part));
    blocks[i] = core::hashBlock(part);
    readBytes += part.size();
  }
  if (image.clock) image.clock->add(Stage::kHash, StageClock::Clock::now() - start, readBytes);
  return core::hashOfBlocks(blocks);
}

core::Status writePieces(RowFile& file, const SegmentImage& image) {
  std::uint64_t bytes = 0;
  for (const SegmentImage::Piece& piece : image.pieces) bytes += piece.bytes.size();
  const StageTimer timer(image.clock, Stage::kWrite, bytes);
  for (const SegmentImage::Piece& piece : image.pieces) MSDBG_TRY(file.write(piece.offset, piece.bytes));
  return file.extend(image.size);
}

}  // namespace

core::Result<core::Hash128> commitImage(const std::filesystem::path& path, const SegmentImage& image,
                                        SpareFile* spare, std::shared_ptr<DirectBuffer> direct) {
  std::shared_ptr<RowFile> file = image.file;
  if (!file) {
    const bool wanted = spare && image.size >= spare->bytes() / 2;
    MSDBG_ASSIGN(file,
                 RowFile::create(path.parent_path(), path.filename().string(), wanted ? spare : nullptr));
    file->take();
    if (direct && image.hasValues()) file->writeDirect(std::move(direct));
  }
  MSDBG_TRY(writePieces(*file, image));
  MSDBG_ASSIGN(const core::Hash128 hash, hashOf(*file, image));
  const StageTimer timer(image.clock, Stage::kWrite, 0);
  MSDBG_TRY(file->commit(path));
  return hash;
}

}  // namespace msdbg::dump

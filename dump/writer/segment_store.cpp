#include "dump/writer/segment_store.h"

#include <unistd.h>

#include <cstdio>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "dump/writer/commit_file.h"

namespace msdbg::dump {
namespace {

std::string fileName(std::int64_t segment) {
  char name[48];
  std::snprintf(name, sizeof name, "segment_%06lld.h5", static_cast<long long>(segment));
  return name;
}

}  // namespace

SegmentStore::SegmentStore(std::filesystem::path folder, int rank, std::uint64_t maxBytes,
                           std::shared_ptr<JournalWriter> journal)
    : m_folder(std::move(folder)),
      m_maxBytes(maxBytes),
      m_journal(std::move(journal)),
      m_writer(rank),
      m_dropper(rank) {}

// A segment that is larger than the whole budget cannot keep its tensors.
core::Result<SegmentWriter::Image> SegmentStore::buildWithin(
    std::span<const IterationRecord* const> iterations) {
  MSDBG_ASSIGN(SegmentWriter::Image image, m_writer.build(m_next, iterations, true));
  if (image.tensors == 0 || image.bytes.size() <= m_maxBytes) return image;
  if (!m_tooLarge) {
    core::logWarn(
        "iteration " + std::to_string(iterations[0]->iteration) + " takes " +
        core::formatBytes(image.bytes.size()) + ", more than this rank's share of --max-size (" +
        core::formatBytes(m_maxBytes) +
        "): only statistics are kept; raise --max-size or choose fewer tensors with --record or --tensors");
    m_tooLarge = true;
  }
  return m_writer.build(m_next, iterations, false);
}

core::Status SegmentStore::commit(std::span<const IterationRecord* const> iterations) {
  MSDBG_ASSIGN(const SegmentWriter::Image image, buildWithin(iterations));
  SegmentLine line;
  line.segment = m_next++;
  line.graph = iterations[0]->plan->version;
  for (const IterationRecord* record : iterations) line.iterations.push_back(record->iteration);
  line.incomplete = !iterations.back()->complete;
  line.tensorsDropped = image.tensors == 0 && (m_tooLarge || !iterations[0]->rows.empty());
  MSDBG_TRY(makeRoom(image.bytes.size()));
  return add(std::move(line), image);
}

core::Status SegmentStore::add(SegmentLine line, const SegmentWriter::Image& image) {
  line.file = fileName(line.segment);
  line.bytes = image.bytes.size();
  line.hash = core::hashBytes(image.bytes).text();
  line.rawBytes = image.rawBytes;
  line.storedBytes = image.storedBytes;
  line.tensors = image.tensors;
  MSDBG_TRY(commitFile(m_folder / line.file, image.bytes));
  m_bytesWritten += line.bytes;
  m_bytesOnDisk += line.bytes;
  MSDBG_TRY(m_journal->append(formatSegment(line)));
  if (line.tensors > 0) m_full.push_back(std::move(line));
  return core::Ok{};
}

core::Status SegmentStore::makeRoom(std::uint64_t bytes) {
  while (m_bytesOnDisk + bytes > m_maxBytes && !m_full.empty()) {
    const SegmentLine oldest = std::move(m_full.front());
    m_full.pop_front();
    MSDBG_TRY(dropTensors(oldest));
  }
  return core::Ok{};
}

// The copy is durable and listed before the original goes, so that a crash at any point loses no statistics.
core::Status SegmentStore::dropTensors(const SegmentLine& old) {
  const std::filesystem::path file = m_folder / old.file;
  auto image = m_dropper.withoutTensors(m_next, file, old.graph);
  if (!image.ok()) return image.error().in(file.string());
  SegmentLine line;
  line.segment = m_next++;
  line.graph = old.graph;
  line.iterations = old.iterations;
  line.incomplete = old.incomplete;
  line.replaces = {old.segment};
  line.tensorsDropped = true;
  MSDBG_TRY(add(std::move(line), *image));
  if (::unlink(file.c_str()) != 0) return ioError("cannot remove", file);
  m_bytesOnDisk -= old.bytes;
  return core::Ok{};
}

}  // namespace msdbg::dump

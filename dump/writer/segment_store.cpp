#include "dump/writer/segment_store.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "dump/reader/segment_reader.h"
#include "dump/writer/commit_file.h"

namespace msdbg::dump {
namespace {

std::string fileName(std::int64_t segment) {
  char name[48];
  std::snprintf(name, sizeof name, "segment_%06lld.h5", static_cast<long long>(segment));
  return name;
}

// How Retention sees a segment that was just listed.
KeptSegment keptSegment(const SegmentLine& line) {
  return {.segment = line.segment,
          .graph = line.graph,
          .first = line.iterations.front(),
          .last = line.iterations.back(),
          .iterations = static_cast<std::int64_t>(line.iterations.size()),
          .bytes = line.bytes,
          .values = line.hasValues(),
          .checkpoint = !line.checkpoints.empty(),
          .dropped = line.tensorsDropped};
}

}  // namespace

SegmentStore::SegmentStore(std::filesystem::path folder, int rank, RetentionRules rules,
                           std::shared_ptr<JournalWriter> journal)
    : m_folder(std::move(folder)),
      m_rank(rank),
      m_retention(std::move(rules)),
      m_journal(std::move(journal)),
      m_writer(rank),
      m_dropper(rank) {}

// A segment that is larger than the whole budget cannot keep its tensors.
core::Result<SegmentWriter::Image> SegmentStore::buildWithin(
    std::span<const IterationRecord* const> iterations) {
  MSDBG_ASSIGN(SegmentWriter::Image image, m_writer.build(m_next, iterations, true));
  if (!image.hasValues() || image.size <= m_retention.maxBytes()) return image;
  if (!m_tooLarge) {
    core::logWarn(
        "iteration " + std::to_string(iterations[0]->iteration) + " takes " + core::formatBytes(image.size) +
        ", more than this rank's share of --max-size (" + core::formatBytes(m_retention.maxBytes()) +
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
  line.tensorsDropped = !image.hasValues() && (m_tooLarge || !iterations[0]->rows.empty());
  MSDBG_TRY(makeRoom(image.size));
  MSDBG_TRY(add(line, image));
  m_hadCheckpoint = m_hadCheckpoint || !line.checkpoints.empty();
  m_retention.add(keptSegment(line));
  return makeRoom(0);
}

core::Status SegmentStore::add(SegmentLine& line, const SegmentWriter::Image& image) {
  line.file = fileName(line.segment);
  line.bytes = image.size;
  line.rawBytes = image.rawBytes;
  line.storedBytes = image.storedBytes;
  line.tensors = image.tensors;
  line.checkpoints = image.checkpoints;
  line.batches = image.batches;
  line.stateBytes = image.stateBytes;
  line.batchBytes = image.batchBytes;
  MSDBG_ASSIGN(const core::Hash128 hash, commitImage(m_folder / line.file, image));
  line.hash = hash.text();
  m_bytesWritten += line.bytes;
  return m_journal->append(formatSegment(line));
}

core::Status SegmentStore::makeRoom(std::uint64_t bytes) {
  while (const auto oldest = m_retention.nextDrop(bytes)) MSDBG_TRY(dropTensors(*oldest));
  return core::Ok{};
}

// The copy is durable and listed before the original goes, so that a crash at any point loses no statistics.
core::Status SegmentStore::dropTensors(std::int64_t segment) {
  const std::filesystem::path file = m_folder / fileName(segment);
  const auto old = SegmentReader::open(file, 0);
  auto line = old.ok() ? (*old)->describe(m_rank) : core::Result<SegmentLine>(old.error());
  if (!line.ok()) return line.error().in(file.string());
  line->segment = m_next++;
  line->replaces = {segment};
  line->tensorsDropped = true;
  auto image = m_dropper.withoutTensors(line->segment, file, line->graph);
  if (!image.ok()) return image.error().in(file.string());
  MSDBG_TRY(add(*line, *image));
  m_retention.replace(line->replaces, keptSegment(*line));
  if (::unlink(file.c_str()) != 0) return ioError("cannot remove", file);
  return core::Ok{};
}

}  // namespace msdbg::dump

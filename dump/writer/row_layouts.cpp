#include "dump/writer/row_layouts.h"

#include <algorithm>
#include <utility>

#include "dump/writer/segment_writer.h"

namespace msdbg::dump {
namespace {

RowLayout layoutOf(const TensorRow& row) {
  const bool waits = row.chunks.empty() && SegmentWriter::ownChunks(row.rawBytes);
  return {row.dtype, row.shape, row.divisor, waits ? 0 : row.largestChunk};
}

RowLayouts layoutsOf(const IterationRecord& record) {
  RowLayouts all;
  for (const auto& [key, row] : record.rows) all.emplace_hint(all.end(), key, layoutOf(row));
  return all;
}

bool isSettled(const RowLayouts& layouts) {
  return std::ranges::none_of(layouts, [](const auto& entry) { return entry.second.largestChunk == 0; });
}

}  // namespace

void KnownLayouts::settle(IterationRecord& record) {
  if (record.layouts || record.toEncode > 0) return;
  RowLayouts layouts = layoutsOf(record);
  if (!isSettled(layouts)) return;
  if (!m_last || *m_last != layouts) m_last = std::make_shared<const RowLayouts>(std::move(layouts));
  record.layouts = m_last;
}

bool CommonLayouts::takes(const IterationRecord& record) {
  if (record.layouts && (record.layouts == m_only || (!m_only && m_all.empty()))) {
    m_only = record.layouts;
    return true;
  }
  if (m_only) m_all = *std::exchange(m_only, nullptr);
  const RowLayouts layouts = record.layouts ? *record.layouts : layoutsOf(record);
  return std::ranges::all_of(layouts, [&](const auto& entry) {
    const RowLayout& layout = entry.second;
    RowLayout& first = m_all.try_emplace(entry.first, layout).first->second;
    if (first.largestChunk == 0) first.largestChunk = layout.largestChunk;
    return first.dtype == layout.dtype && first.shape == layout.shape && first.divisor == layout.divisor &&
           (layout.largestChunk == 0 || first.largestChunk == layout.largestChunk);
  });
}

}  // namespace msdbg::dump

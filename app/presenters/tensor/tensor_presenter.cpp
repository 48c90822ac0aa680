#include "app/presenters/tensor/tensor_presenter.h"

#include <fmt/format.h>

#include <algorithm>

#include "replay/describe.h"

namespace msdbg::app {

using core::CancelToken;
using replay::Run;

namespace {

// A large value keeps the replay thread busy: it is read when the cursor rests.
constexpr std::int64_t kLargeElements = 4 << 20;
constexpr int kRestMs = 120;
constexpr int kPatienceMs = 200;  // so long an old picture may stay until the new one is there

QString text(const std::string& utf8) { return QString::fromStdString(utf8); }

}  // namespace

template <typename Job, typename Done>
void TensorPresenter::ask(const std::string& tag, Job job, Done done) {
  m_pending.insert(tag);
  m_document.replay().ask(this, tag, std::move(job), [this, tag, done = std::move(done)](auto answer) {
    m_pending.erase(tag);
    done(std::move(answer));
  });
}

void TensorPresenter::cancel(const std::string& tag) {
  m_document.replay().cancel(this, tag);
  m_pending.erase(tag);
}

TensorPresenter::TensorPresenter(Document& document, QObject* parent)
    : QObject(parent), m_document(document), m_cache(std::make_shared<TensorCache>()) {
  m_loadTimer.setSingleShot(true);
  m_tileTimer.setSingleShot(true);
  m_patience.setSingleShot(true);
  connect(&m_loadTimer, &QTimer::timeout, this, [this] {
    askValues();
    askPictures();
    askHistograms();
  });
  connect(&m_tileTimer, &QTimer::timeout, this, &TensorPresenter::askTiles);
  connect(&m_patience, &QTimer::timeout, this, [this] { forgetDrawings(false); });
  connect(&document.cursor(), &Cursor::moved, this, &TensorPresenter::follow);
  connect(&document, &Document::grew, this, &TensorPresenter::factsChanged);
  connect(&m_computed, &ComputedValue::progressed, this, [this](const QString& said) {
    m_computingText = said;
    emit computingChanged();
  });
  connect(&m_computed, &ComputedValue::computed, this, &TensorPresenter::takeComputed);
  connect(&m_computed, &ComputedValue::failed, this, &TensorPresenter::stopComputing);
  follow();
}

void TensorPresenter::follow() {
  const Place& place = m_document.cursor().place();
  const ValueKey key{place.rank, place.iteration, place.tensor};
  if (key == m_a) return;
  const bool other = key.tensor != m_a.tensor;
  m_a = key;
  cancelComputing();  // nobody looks at it any more
  if (other) {
    const bool known = hasTensor() && info().shape.known();
    m_plane = known ? SlicePlane(info().shape) : SlicePlane();
    m_cell.reset();
    for (TileStore& tiles : m_tiles) tiles.clear();
    forgetDrawings(true);
    forgetValues();
    emit tensorChanged();
    emit planeChanged();
    emit cellChanged();
  }
  emit placeChanged();
  load();
}

void TensorPresenter::forgetValues() {
  cancel("values");
  cancel("tiles");
  m_tileTimer.stop();
  m_answer.reset();
  for (TileStore& tiles : m_tiles) tiles.renew();
}

// Those that are looked at stay for a moment after a step: a flash of nothing between two of them is no help.
void TensorPresenter::forgetDrawings(bool all) {
  if (all || !m_watchPictures || m_pending.contains("pictures")) {
    m_pictures = {};
    emit picturesChanged();
  }
  if (all || !m_watchHistograms || m_pending.contains("histograms")) {
    m_histograms = {};
    emit histogramsChanged();
  }
}

void TensorPresenter::setActive(bool active) {
  m_active = active;
  m_stale = m_stale || (!active && m_loadTimer.isActive());
  if (!active) m_loadTimer.stop();
  if (m_active && m_stale) load();
}

// Asked for when every panel has heard of the move: their questions are small and go first.
void TensorPresenter::load() {
  forgetValues();
  emit answered();
  if (!m_watchPictures) m_pictures = {};
  if (!m_watchHistograms) m_histograms = {};
  m_stale = !m_active;
  m_loadTimer.stop();
  if (!hasTensor() || !m_active) return;
  const bool large = m_plane.valid() && m_plane.shape().elements() > kLargeElements;
  m_loadTimer.start(large ? kRestMs : 0);
}

void TensorPresenter::askValues() {
  PerSide<std::vector<TileKey>> tiles;
  for (const Side side : kSides) {
    m_tiles[indexOf(side)].want({});
    tiles[indexOf(side)] = m_tiles[indexOf(side)].wanted();
  }
  ask(
      "values",
      [cache = m_cache, asked = question(), plane = m_plane, tiles](Run& run, const CancelToken& token)
          -> core::Result<ValueAnswer> { return readValues(run, *cache, asked, plane, tiles, token); },
      [this](core::Result<ValueAnswer> answer) {
        ValueAnswer failure;
        if (!answer.ok()) failure.a.missing = answer.error();
        take(answer.ok() ? std::move(answer).value() : std::move(failure));
      });
}

void TensorPresenter::take(ValueAnswer answer) {
  for (const Side side : kSides) m_tiles[indexOf(side)].add(std::move(answer.tiles[indexOf(side)]));
  m_answer = std::move(answer);
  const ValueAnswer& now = *m_answer;
  const bool onlyOther = now.a.missing && now.b && !now.b->missing;
  // A shape that the graph does not know, or that was another one then.
  if (!now.a.missing || onlyOther) {
    const core::Shape& shape = now.a.missing ? now.b->shape : now.a.shape;
    if (!m_plane.valid() || m_plane.shape() != shape) {
      m_cell.reset();
      changePlane(SlicePlane(shape));
    }
  }
  emit answered();
  emit tilesChanged();
  emit cellChanged();
}

bool TensorPresenter::available(Side side) const {
  if (!m_answer) return false;
  const auto there = [this](const ValueAnswer::Value& value) {
    return !value.missing && value.shape == m_plane.shape();
  };
  if (side == Side::kA) return there(m_answer->a);
  if (side == Side::kB) return m_answer->b && there(*m_answer->b);
  return m_answer->comparable();
}

QString TensorPresenter::message(Side side) const {
  if (!m_answer || available(side)) return {};
  const ValueAnswer& answer = *m_answer;
  if (side == Side::kA && answer.a.missing) return text(answer.a.missing->message());
  if (side == Side::kA) return tr("the plane does not fit the tensor");
  if (!answer.b && !m_a.iteration.valid()) return tr("nothing is recorded to compare with");
  if (!answer.b)
    return tr("iteration %1 is the first one that rank %2 recorded: nothing comes before it")
        .arg(facts().iterationText(m_a.iteration))
        .arg(m_a.rank.value);
  if (side == Side::kB && answer.b->missing) return text(answer.b->missing->message());
  if (answer.a.missing || answer.b->missing) return tr("A difference needs both values");
  return text("the shapes differ, so the elements cannot be compared: " + answer.a.shape.text() + " and " +
              answer.b->shape.text());
}

std::optional<core::Iteration> TensorPresenter::nearestValue(Side side) const {
  if (!m_answer || side == Side::kDifference) return std::nullopt;
  if (side == Side::kA) return m_answer->a.nearest;
  // Another rank is compared with in the same iteration, wherever that is.
  const bool ofRank = m_comparison.with == Comparison::With::kRank;
  return m_answer->b && !ofRank ? m_answer->b->nearest : std::nullopt;
}

void TensorPresenter::goToNearestValue(Side side) {
  const std::optional<core::Iteration> nearest = nearestValue(side);
  if (!nearest) return;
  if (side == Side::kA)
    m_document.cursor().setIteration(*nearest);
  else
    setComparison({Comparison::With::kIteration, nearest->value});
}

void TensorPresenter::setRowDimension(int dimension) {
  SlicePlane plane = m_plane;
  plane.setRowDimension(dimension);
  changePlane(plane);
}

void TensorPresenter::setColumnDimension(int dimension) {
  SlicePlane plane = m_plane;
  plane.setColumnDimension(dimension);
  changePlane(plane);
}

void TensorPresenter::setIndex(int dimension, std::int64_t index) {
  SlicePlane plane = m_plane;
  plane.setIndex(dimension, index);
  changePlane(plane);
}

// The marked cell stays where it is on the screen: it becomes the element that stands there now.
void TensorPresenter::changePlane(const SlicePlane& plane) {
  if (plane == m_plane) return;
  if (m_cell) {
    const std::int64_t row = m_plane.rowOf(*m_cell), column = m_plane.columnOf(*m_cell);
    m_cell.reset();
    if (row < plane.rows() && column < plane.columns()) m_cell = plane.flatIndex(row, column);
  }
  m_plane = plane;
  for (TileStore& tiles : m_tiles) tiles.clear();
  cancel("tiles");
  emit planeChanged();
  emit cellChanged();
  if (m_loadTimer.isActive()) return;
  if (m_pending.contains("values")) return load();  // it would bring tiles of the old plane
  emit tilesChanged();
  askPictures();
}

void TensorPresenter::setCell(std::int64_t row, std::int64_t column) {
  if (row < 0 || column < 0 || row >= m_plane.rows() || column >= m_plane.columns()) return;
  const std::int64_t cell = m_plane.flatIndex(row, column);
  if (m_cell == cell) return;
  m_cell = cell;
  emit cellChanged();
}

void TensorPresenter::showElement(std::int64_t flatIndex) {
  if (!m_plane.valid() || flatIndex < 0 || flatIndex >= m_plane.shape().elements()) return;
  SlicePlane plane = m_plane;
  plane.show(flatIndex);
  changePlane(plane);
  m_cell = flatIndex;
  emit cellChanged();
}

QString TensorPresenter::cellText(Side side) {
  if (!m_cell) return {};
  const Element found = element(side, m_plane.rowOf(*m_cell), m_plane.columnOf(*m_cell));
  return found.tile ? text(replay::exactElementText(*found.tile, found.at)) : QStringLiteral("…");
}

TensorPresenter::Element TensorPresenter::element(Side side, std::int64_t row, std::int64_t column) {
  if (!available(side) || row >= m_plane.rows() || column >= m_plane.columns()) return {};
  const TileKey key{static_cast<int>(row / kTileSide), static_cast<int>(column / kTileSide)};
  TileStore& tiles = m_tiles[indexOf(side)];
  if (const core::Tensor* tile = tiles.find(key))
    return {tile, (row % kTileSide) * tile->shape()[1] + column % kTileSide};
  if (tiles.want(key)) m_tileTimer.start(0);
  return {};
}

void TensorPresenter::askTiles() {
  PerSide<std::vector<TileKey>> wanted;
  for (const Side side : kSides) wanted[indexOf(side)] = m_tiles[indexOf(side)].wanted();
  using Answer = core::Result<PerSide<Tiles>>;
  ask(
      "tiles",
      [cache = m_cache, asked = question(), plane = m_plane, wanted](Run& run, const CancelToken&) -> Answer {
        return readTiles(run, *cache, asked, plane, wanted);
      },
      [this](Answer answer) {
        if (!answer.ok()) return;
        for (const Side side : kSides) m_tiles[indexOf(side)].add(std::move((*answer)[indexOf(side)]));
        emit tilesChanged();
        emit cellChanged();
      });
}

void TensorPresenter::setComparison(Comparison comparison) {
  if (comparison == m_comparison) return;
  m_comparison = comparison;
  emit placeChanged();
  load();
}

void TensorPresenter::setShown(PerSide<bool> shown) {
  if (shown == m_shown) return;
  m_shown = shown;
  emit shownChanged();
}

std::optional<ValueKey> TensorPresenter::other() const {
  using With = Comparison::With;
  const auto same = [this](core::Rank rank, core::Iteration iteration) {
    return ValueKey{rank, iteration, m_a.tensor};
  };
  if (m_comparison.with == With::kIteration) return same(m_a.rank, core::Iteration(m_comparison.number));
  if (m_comparison.with == With::kRank) return same(core::Rank(m_comparison.number), m_a.iteration);
  const auto known = facts().iterations.find(m_a.rank);
  if (m_comparison.with == With::kNothing || known == facts().iterations.end()) return std::nullopt;
  const auto at = std::ranges::lower_bound(known->second, m_a.iteration);
  if (at == known->second.begin()) return std::nullopt;
  return same(m_a.rank, *std::prev(at));
}

QString TensorPresenter::placeText(Side side) const {
  if (side == Side::kDifference) return tr("difference A − B");
  const std::optional<ValueKey> key = side == Side::kA ? m_a : other();
  if (!key) return tr("nothing");
  return tr("rank %1, iteration %2").arg(key->rank.value).arg(facts().iterationText(key->iteration));
}

QString TensorPresenter::sideTitle(Side side) const {
  if (side == Side::kDifference) return QStringLiteral("A − B");
  const std::optional<ValueKey> key = side == Side::kA ? m_a : other();
  const QString name = side == Side::kA ? QStringLiteral("A") : QStringLiteral("B");
  if (!key) return name;
  return m_comparison.with == Comparison::With::kRank
             ? tr("%1 · rank %2").arg(name).arg(key->rank.value)
             : tr("%1 · iteration %2").arg(name).arg(key->iteration.value);
}

void TensorPresenter::watchPictures(bool on, PictureQuestion question) {
  const bool same = on == m_watchPictures && question.map == m_pictureQuestion.map &&
                    question.most == m_pictureQuestion.most;
  m_watchPictures = on;
  m_pictureQuestion = question;
  if (!on) cancel("pictures");
  if (!same) askPictures();
}

void TensorPresenter::askPictures() {
  m_stale = m_stale || !m_active;
  if (!m_watchPictures || !m_active || !hasTensor() || !m_plane.valid()) return;
  m_patience.start(kPatienceMs);
  using Answer = core::Result<PerSide<Picture>>;
  ask(
      "pictures",
      [cache = m_cache, asked = question(), plane = m_plane, picture = m_pictureQuestion](
          Run& run, const CancelToken& token) -> Answer {
        return readPictures(run, *cache, asked, plane, picture, token);
      },
      [this](Answer answer) {
        m_pictures = answer.ok() ? std::move(*answer) : PerSide<Picture>();
        emit picturesChanged();
      });
}

void TensorPresenter::watchHistograms(bool on) {
  if (on == m_watchHistograms) return;
  m_watchHistograms = on;
  if (on)
    askHistograms();
  else
    cancel("histograms");
}

void TensorPresenter::askHistograms() {
  m_stale = m_stale || !m_active;
  if (!m_watchHistograms || !m_active || !hasTensor()) return;
  m_patience.start(kPatienceMs);
  using Answer = core::Result<Histograms>;
  ask(
      "histograms",
      [cache = m_cache, asked = question()](Run& run, const CancelToken& token) -> Answer {
        return readHistograms(run, *cache, asked, token);
      },
      [this](Answer answer) {
        m_histograms = answer.ok() ? std::move(*answer) : Histograms();
        emit histogramsChanged();
      });
}

QString TensorPresenter::command() const {
  if (!hasTensor() || !m_a.rank.valid() || !m_a.iteration.valid()) return {};
  const QString line = QStringLiteral("msdbg show %1 --tensor %2 --iteration %3 --rank %4")
                           .arg(m_document.runArgument(), shellQuoted(text(replay::tensorName(info()))),
                                QString::number(m_a.iteration.value), QString::number(m_a.rank.value));
  const std::string slice = m_plane.valid() ? m_plane.sliceText() : std::string();
  return slice.empty() ? line : line + " --slice " + shellQuoted(text(slice));
}

}  // namespace msdbg::app

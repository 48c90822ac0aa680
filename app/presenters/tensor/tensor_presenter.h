// TensorPresenter: what the tensor panel shows of a document: the tensor at the cursor's rank and iteration,
// a plane of it in tiles, its statistics, what is not finite, a picture, a histogram, and the same of what it
// is compared with. Values are read on the replay thread; only what is seen comes here. UI thread only.
#pragma once

#include <QObject>
#include <QSize>
#include <QTimer>
#include <set>

#include "app/async/computed_value.h"
#include "app/presenters/answer/offer.h"
#include "app/presenters/document.h"
#include "app/presenters/tensor/tensor_jobs.h"
#include "app/presenters/tensor/tile_store.h"

namespace msdbg::app {

struct Comparison {
  enum class With { kNothing, kPrevious, kIteration, kRank } with = With::kNothing;
  std::int64_t number = 0;  // the iteration or rank
  bool operator==(const Comparison&) const = default;
};

class TensorPresenter : public QObject {
  Q_OBJECT
 public:
  explicit TensorPresenter(Document& document, QObject* parent = nullptr);

  const RunFacts& facts() const { return m_document.facts(); }
  Document& document() const { return m_document; }
  core::TensorId tensor() const { return m_a.tensor; }  // invalid: none is selected
  bool hasTensor() const { return m_a.tensor.valid(); }
  const core::TensorInfo& info() const { return m_document.graph().tensor(m_a.tensor); }  // hasTensor() only
  const ValueKey& place() const { return m_a; }

  // What was answered; nullptr while it is waited for.
  const ValueAnswer* answer() const { return m_answer ? &*m_answer : nullptr; }
  /// Why a side has no values: "" when it has, or while it is waited for.
  QString message(Side side) const;
  bool available(Side side) const;

  // The plane: rows and columns of the table. Kept while only rank or iteration change.
  const SlicePlane& plane() const { return m_plane; }
  void setRowDimension(int dimension);
  void setColumnDimension(int dimension);
  void setIndex(int dimension, std::int64_t index);

  // The current cell: an element, also where it is not loaded.
  std::optional<std::int64_t> cell() const { return m_cell; }
  void setCell(std::int64_t row, std::int64_t column);
  void showElement(std::int64_t flatIndex);  // moves the plane there
  /// The current cell's value, so that it reads back as the same; "…" until it is there.
  QString cellText(Side side);

  /// Which sides a person wants to see while comparing.
  bool shown(Side side) const { return comparing() ? m_shown[indexOf(side)] : side == Side::kA; }
  void setShown(PerSide<bool> shown);

  // Tiles. element(): where it lies in which tensor; nullptr: not here yet, and now asked for.
  struct Element {
    const core::Tensor* tile = nullptr;
    std::int64_t at = 0;
  };
  Element element(Side side, std::int64_t row, std::int64_t column);

  const Comparison& comparison() const { return m_comparison; }
  void setComparison(Comparison comparison);
  bool comparing() const { return m_comparison.with != Comparison::With::kNothing; }
  std::optional<ValueKey> other() const;  // what it is compared with, if that can be named
  QString sideTitle(Side side) const;     // what sets the sides apart: "A · rank 0"; "A − B"
  QString placeText(Side side) const;     // "rank 0, iteration 4"; "difference"

  // Pictures and histograms are made while somebody looks at them.
  void watchPictures(bool on, PictureQuestion question = {});
  const Picture& picture(Side side) const { return m_pictures[indexOf(side)]; }
  void watchHistograms(bool on);
  const Histograms& histograms() const { return m_histograms; }

  /// Where the value of a side that is not stored here is stored; nullopt: here, nowhere, or not known yet.
  std::optional<core::Iteration> nearestValue(Side side) const;
  /// Goes there, or compares with it.
  void goToNearestValue(Side side);

  /// What it takes to compute the value of a side that is not stored; nullopt: it is, or cannot be.
  std::optional<replay::RecomputeWay> wayToCompute(Side side) const;
  /// Computes it in a process of its own; the side shows it then. computingChanged() tells of each step.
  void compute(Side side);
  void cancelComputing();
  std::optional<Side> computing() const { return m_computing; }
  QString computingText() const { return m_computingText; }  // "computing iteration 3 of 5"; why it failed

  /// A question about the current cell, or the iteration, of a side (of the difference: of A's).
  Offer offer(Ask ask, Side side) const;

  /// A panel that nobody sees asks for nothing.
  void setActive(bool active);
  bool settled() const {
    return !m_computing && m_pending.empty() && !m_tileTimer.isActive() && !m_loadTimer.isActive();
  }

  // Files are written on the replay thread, under another name first. exported() or failed() follows.
  void exportNpy(const QString& file);             // A, whole
  void exportCsv(const QString& file, Side side);  // the plane
  void exportPng(const QString& file, Side side, ColourMap map, const SignalColours& signal);

  QString command() const;

 signals:
  void factsChanged();   // the run has grown
  void tensorChanged();  // another tensor, or none
  void placeChanged();   // rank, iteration or what it is compared with
  void planeChanged();   // its dimensions or indices
  void answered();       // answer() and message(): also when they were forgotten
  void shownChanged();
  void tilesChanged();
  void cellChanged();
  void picturesChanged();
  void histogramsChanged();
  void computingChanged();
  void exported(const QString& message);
  void failed(const QString& message);

 private:
  void follow();  // the cursor
  void load();
  void askValues();
  void take(ValueAnswer answer);
  void forgetValues();
  void forgetDrawings(bool all);
  void changePlane(const SlicePlane& plane);
  void askTiles();
  void askPictures();
  void askHistograms();
  std::optional<ValueKey> keyOf(Side side) const;
  void stopComputing(const QString& text);
  void takeComputed(const core::Tensor& value, bool other);
  ValueQuestion question() const { return {m_a, other()}; }
  template <typename Job, typename Done>
  void ask(const std::string& tag, Job job, Done done);
  void cancel(const std::string& tag);
  template <typename Write>
  void exportFile(const QString& file, Write write, const std::string& note = {});

  Document& m_document;
  std::shared_ptr<TensorCache> m_cache;  // touched on the replay thread
  ValueKey m_a;
  Comparison m_comparison;
  SlicePlane m_plane;
  std::optional<std::int64_t> m_cell;
  std::optional<ValueAnswer> m_answer;
  PerSide<TileStore> m_tiles;
  PerSide<bool> m_shown = {true, true, true};
  QTimer m_loadTimer, m_tileTimer, m_patience;
  bool m_active = true, m_stale = false;
  bool m_watchPictures = false, m_watchHistograms = false;
  PictureQuestion m_pictureQuestion;
  PerSide<Picture> m_pictures;
  Histograms m_histograms;
  std::set<std::string> m_pending;
  ComputedValue m_computed;
  std::optional<Side> m_computing;
  ValueKey m_computedKey;
  QString m_computingText;
  int m_exports = 0;
};

}  // namespace msdbg::app

// The tensor panel's presenter with tensors of every dtype, and with one that this msdbg does not know.
#include <catch2/catch.hpp>

#include "app/presenters/tensor/side_values.h"
#include "app/presenters/tensor/tensor_presenter.h"
#include "replay/inspect.h"
#include "tests/dump/patched_run.h"
#include "tests/dump/recorded_run.h"
#include "tests/gui/support/gui.h"

using namespace msdbg;
using namespace msdbg::app;
using core::DType;
using core::Tensor;

namespace {

struct Fixture {
  test::TempDir folder;
  std::unique_ptr<Document> document;
  std::unique_ptr<TensorPresenter> presenter;

  explicit Fixture(const std::string& unknown = "") {
    const std::filesystem::path run = folder / "every.msdbg";
    test::record(run, test::everyDTypeGraph(), {}, {.iterations = 2});
    if (!unknown.empty()) test::makeDTypeUnknown(run, unknown, 99);
    document = test::openDocument(run);
    presenter = std::make_unique<TensorPresenter>(*document);
  }
  void go(const std::string& name) {
    Place place = document->cursor().place();
    place.rank = core::Rank(0);
    place.iteration = core::Iteration(1);
    place.tensor = replay::resolveTensor(document->graph(), name).value();
    document->cursor().moveTo(place);
    settle();
  }
  void settle() {
    REQUIRE(test::eventually([&] { return presenter->settled() && document->replay().idle(); }));
  }
};

std::string nameOf(DType dtype) { return "network/" + std::string(core::dtypeName(dtype)); }

}  // namespace

TEST_CASE("TensorPresenter shows elements of every dtype, and what they differ by") {
  Fixture f;
  TensorPresenter& p = *f.presenter;
  const core::Graph graph = test::everyDTypeGraph();
  p.setComparison({Comparison::With::kIteration, 0});
  for (const DType dtype : core::kDTypes) {
    CAPTURE(core::dtypeName(dtype));
    f.go(nameOf(dtype));
    p.setCell(2, 3);
    f.settle();
    REQUIRE(p.answer());
    CHECK(p.available(Side::kA));
    const core::TensorInfo& info = graph.tensor(test::tensorNamed(graph, nameOf(dtype)));
    const Tensor a = test::valueOf(info, 1), b = test::valueOf(info, 0);
    CHECK(p.cellText(Side::kA).toStdString() == replay::exactElementText(a, 13));
    const core::Complex128 apart{a.complexAt(13).real - b.complexAt(13).real,
                                 a.complexAt(13).imag - b.complexAt(13).imag};
    const Tensor difference = core::isComplex(dtype) ? Tensor::scalar(apart)
                              : core::isFloating(dtype)
                                  ? Tensor::scalar(apart.real)
                                  : Tensor::scalar(static_cast<std::int64_t>(apart.real));
    CHECK(p.cellText(Side::kDifference).toStdString() == replay::exactElementText(difference, 0));
    REQUIRE(p.answer()->difference);
    CHECK(p.answer()->difference->different > 0);
  }
}

TEST_CASE("TensorPresenter says which dtype an exported array has, where NumPy lacks its own") {
  Fixture f;
  QStringList told;
  QObject::connect(f.presenter.get(), &TensorPresenter::exported,
                   [&](const QString& message) { told << message; });
  for (const char* name : {"network/bfloat16", "network/float16"}) {
    f.go(name);
    f.presenter->exportNpy(QString::fromStdString(f.folder / "t.npy"));
    f.settle();
  }
  REQUIRE(told.size() == 2);
  CHECK(told[0].endsWith("t.npy as float32: NumPy has no bfloat16"));
  CHECK(told[1].endsWith("t.npy"));
}

TEST_CASE("TensorPresenter says why a tensor of an unknown dtype has no values, and shows its statistics") {
  Fixture f("network/float8_e5m2");
  f.go("network/float8_e5m2");
  REQUIRE(f.presenter->answer());
  CHECK_FALSE(f.presenter->available(Side::kA));
  CHECK(f.presenter->message(Side::kA).contains("number 99"));
  CHECK(f.presenter->message(Side::kA).contains("update msdbg"));
  REQUIRE(f.presenter->answer()->a.statistics);
  CHECK(f.presenter->answer()->a.statistics->values.count == 15);
  f.go("network/float16");
  CHECK(f.presenter->available(Side::kA));
}

TEST_CASE("A difference of whole numbers of any width wraps around, and one of complex numbers is complex") {
  const SideValues whole(Tensor::scalar(std::uint64_t{1} << 63), Tensor::scalar(std::int8_t{-1}));
  CHECK(whole.dtype() == DType::Int64);
  Tensor cell(DType::Int64, {});
  whole.copy(0, cell, 0);
  CHECK(cell.data<std::int64_t>()[0] == INT64_MIN + 1);
  const SideValues complex(Tensor::scalar(core::Complex64{3, 0}), Tensor::scalar(std::int32_t{3}));
  CHECK(complex.dtype() == DType::Complex128);
  CHECK(complex.at(0) == 0);
  const SideValues turned(Tensor::scalar(core::Complex64{0, 2}), Tensor::scalar(core::Complex64{0, -2}));
  CHECK(turned.at(0) == 4);
}

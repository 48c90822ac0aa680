#include "app/presenters/tensor/tensor_presenter.h"

#include <QAbstractItemModelTester>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "app/presenters/tensor/statistics_model.h"
#include "app/presenters/tensor/tensor_table_model.h"
#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

using namespace msdbg;
using namespace msdbg::app;
using Json = nlohmann::json;

namespace {

struct Fixture {
  explicit Fixture(const std::filesystem::path& run) : path(run), document(test::openDocument(run)) {
    presenter = std::make_unique<TensorPresenter>(*document);
  }
  void go(const std::string& name, std::int64_t rank, std::int64_t iteration) {
    Place place = document->cursor().place();
    place.rank = core::Rank(rank);
    place.iteration = core::Iteration(iteration);
    place.tensor = replay::resolveTensor(document->graph(), name).value();
    document->cursor().moveTo(place);
    settle();
  }
  void settle() {
    REQUIRE(test::eventually([&] { return presenter->settled() && document->replay().idle(); }));
  }
  // What the command prints; the reference of everything here.
  Json shown() const {
    const test::RunResult result = test::runCommand(
        {"/bin/sh", "-c",
         test::buildDir().string() + "/bin/" + presenter->command().toStdString() + " --json"});
    REQUIRE(result.exitStatus == 0);
    return Json::parse(result.out);
  }
  std::filesystem::path path;
  std::unique_ptr<Document> document;
  std::unique_ptr<TensorPresenter> presenter;
};

double numberOf(const Json& json) {
  if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
  if (!json.is_string()) return json.get<double>();
  const std::string text = json.get<std::string>();
  return text == "nan" ? NAN : text == "inf" ? INFINITY : -INFINITY;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Every cell of the plane, in the order of the printed slice.
void checkCells(Fixture& f) {
  Json values = f.shown()["values"];
  if (!values.is_array()) values = Json::array({values});
  if (!values[0].is_array())
    for (Json& value : values) value = Json::array({value});
  TensorPresenter& p = *f.presenter;
  REQUIRE(static_cast<std::int64_t>(values.size()) == p.plane().rows());
  REQUIRE(static_cast<std::int64_t>(values[0].size()) == p.plane().columns());
  for (std::int64_t row = 0; row < p.plane().rows(); row += kTileSide)
    for (std::int64_t column = 0; column < p.plane().columns(); column += kTileSide)
      p.element(Side::kA, row, column);
  f.settle();
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < p.plane().rows(); ++row) {
    for (std::int64_t column = 0; column < p.plane().columns(); ++column) {
      const TensorPresenter::Element element = p.element(Side::kA, row, column);
      REQUIRE(element.tile);
      const Json& expected = values[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
      wrong += !same(element.tile->at(element.at), numberOf(expected));
    }
  }
  CHECK(wrong == 0);
}

// Writes garbage into segments of rank 1 until a value is hit; gives its name and iteration.
std::pair<std::string, std::int64_t> damageSomeTensor(const std::filesystem::path& run) {
  for (int share = 2; share < 16; ++share) {
    for (const auto& entry : std::filesystem::directory_iterator(run / "rank_1")) {
      if (entry.path().extension() != ".h5") continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(entry.path())) * share / 16);
      file.write(std::string(32, 'x').data(), 32);
      REQUIRE(file.flush());
    }
    const std::string mark = "/tensor/";
    for (const replay::Damage& damage : replay::Run::open(run).value()->verifiable()->verify({}, {})) {
      const std::size_t at = damage.where.find(mark);
      if (at != std::string::npos && damage.what.find("hash") != std::string::npos &&
          !damage.iterations.empty())
        return {damage.where.substr(at + mark.size()), damage.iterations.front()};
    }
  }
  FAIL("no value was hit");
  return {};
}

std::string bytesOf(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE(
    "TensorPresenter shows the values that msdbg show prints, for several ranks, iterations and dtypes") {
  Fixture f(test::nanRun());
  for (const auto& [name, rank, iteration] : std::vector<std::tuple<std::string, int, int>>{
           {"conv1/weight", 0, 0},
           {"conv2/weight", 1, 7},
           {"conv2/Conv-op1", 1, 4},
           {"label", 0, 3},
           {"label", 1, 3},
           {"conv1/bias", 1, 9},
       }) {
    INFO(name << " rank " << rank << " iteration " << iteration);
    f.go(name, rank, iteration);
    REQUIRE(f.presenter->available(Side::kA));
    checkCells(f);
  }
}

TEST_CASE(
    "TensorPresenter reads further tiles only when they are looked at, and keeps the slice along a step") {
  Fixture f(test::nanRun());
  f.go("conv2/Conv-op1", 0, 2);
  TensorPresenter& p = *f.presenter;
  REQUIRE(p.plane().shape().rank() == 4);
  p.setIndex(0, 3);
  p.setIndex(1, 5);
  f.settle();
  CHECK(p.command().contains("--slice 3,5,:,:"));
  checkCells(f);
  f.document->cursor().stepIteration(1);
  f.settle();
  CHECK(p.plane().index(0) == 3);
  CHECK(p.plane().index(1) == 5);
  checkCells(f);
  p.setRowDimension(0);  // a large plane: batch x columns
  f.settle();
  CHECK(p.plane().rows() == p.plane().shape()[0]);
  f.go("conv2/weight", 0, 3);
  CHECK(p.plane().index(0) == 0);
}

TEST_CASE("TensorPresenter counts what is not finite as the statistics do and goes to the first of them") {
  Fixture f(test::nanRun());
  f.go("conv2/Conv-op1", 1, 4);
  TensorPresenter& p = *f.presenter;
  const replay::NonFinite found = p.answer()->nonFinite;
  const Json statistics = f.shown()["statistics"];
  CHECK(found.nan == statistics["nan"].get<std::int64_t>());
  REQUIRE(found.nan > 0);
  REQUIRE(!found.first.empty());
  p.showElement(found.first.back().flatIndex);
  f.settle();
  CHECK(p.cellText(Side::kA) == "nan");
  CHECK(p.plane().flatIndex(p.plane().rowOf(*p.cell()), p.plane().columnOf(*p.cell())) ==
        found.first.back().flatIndex);
  f.go("conv2/Conv-op1", 0, 4);
  CHECK(p.answer()->nonFinite.count() == 0);
}

TEST_CASE("TensorPresenter compares iterations and ranks element by element") {
  Fixture f(test::nanRun());
  f.go("conv1/weight", 0, 3);
  const Json before = f.shown()["values"];
  f.go("conv1/weight", 0, 4);
  const Json now = f.shown()["values"];
  TensorPresenter& p = *f.presenter;
  p.setComparison({Comparison::With::kPrevious, 0});
  f.settle();
  REQUIRE(p.available(Side::kDifference));
  CHECK(p.placeText(Side::kB) == "rank 0, iteration 3");
  std::int64_t different = 0, wrong = 0;
  double most = 0;
  REQUIRE(now.size() == before.size());
  for (std::size_t row = 0; row < now.size(); ++row) {
    for (std::size_t column = 0; column < now[row].size(); ++column) {
      const double a = now[row][column], b = before[row][column];
      const auto element =
          p.element(Side::kDifference, static_cast<std::int64_t>(row), static_cast<std::int64_t>(column));
      REQUIRE(element.tile);
      wrong += element.tile->at(element.at) != a - b;
      different += a != b;
      most = std::max(most, std::abs(a - b));
    }
  }
  CHECK(wrong == 0);
  REQUIRE(p.answer()->difference);
  if (p.plane().sliceText().empty()) {
    CHECK(p.answer()->difference->different == different);
    CHECK(p.answer()->difference->maxAbs == most);
  } else {
    CHECK(p.answer()->difference->different >= different);
    CHECK(p.answer()->difference->maxAbs >= most);
  }
  // Before the fault all ranks have the same weights.
  p.setComparison({Comparison::With::kRank, 1});
  f.settle();
  CHECK(p.answer()->difference->different == 0);
  p.setComparison({Comparison::With::kPrevious, 0});
  f.go("conv1/weight", 0, 0);
  CHECK(!p.available(Side::kB));
  CHECK(p.message(Side::kB).contains("nothing comes before it"));
  CHECK(p.available(Side::kA));
  p.setComparison({Comparison::With::kIteration, 12345});
  f.settle();
  CHECK(p.message(Side::kB).contains("12345"));
}

TEST_CASE(
    "TensorPresenter says which option stores a tensor that was not stored, and still has its statistics") {
  test::TempDir folder;
  const std::filesystem::path run = folder / "stats.msdbg";
  REQUIRE(test::runMsdbg({"dump", "mlp", "--threads", "1", "--steps", "3", "--batch", "4", "--policy",
                          "stats", "-o", run.string()})
              .exitStatus == 0);
  Fixture f(run);
  const core::TensorInfo* weight = nullptr;
  for (const core::TensorInfo& info : f.document->graph().tensors())
    if (info.role == core::TensorRole::kParameter && !weight) weight = &info;
  REQUIRE(weight);
  f.go(weight->name, 0, 1);
  CHECK(!f.presenter->available(Side::kA));
  CHECK(f.presenter->message(Side::kA).contains("--policy full"));
  CHECK(f.presenter->answer()->a.statistics);
  StatisticsModel statistics(*f.presenter);
  QAbstractItemModelTester tester(&statistics, QAbstractItemModelTester::FailureReportingMode::Fatal);
  CHECK(statistics.rowCount() > 10);
  TensorTableModel table(*f.presenter, Side::kA);
  CHECK(table.rowCount() == 0);
}

TEST_CASE("TensorPresenter says why a value cannot be computed again, where it offers no button for that") {
  test::TempDir folder;
  const std::filesystem::path run = folder / "bare.msdbg";
  REQUIRE(test::runMsdbg({"dump", "mlp", "--threads", "1", "--steps", "3", "--batch", "4", "--policy",
                          "stats", "--no-replay", "-o", run.string()})
              .exitStatus == 0);
  Fixture f(run);
  f.go("network/fc1/Gemm-op1", 0, 1);
  CHECK_FALSE(f.presenter->wayToCompute(Side::kA));
  CHECK(f.presenter->message(Side::kA).contains("nor can it be computed again"));
}

TEST_CASE("TensorPresenter says what is damaged where a value cannot be read, and goes on") {
  test::TempDir folder;
  const std::filesystem::path run = test::copyOf(test::nanRun(), folder.path());
  const auto [tensor, iteration] = damageSomeTensor(run);
  Fixture f(run);
  f.go(tensor, 1, iteration);
  CHECK(!f.presenter->available(Side::kA));
  CHECK(f.presenter->message(Side::kA).contains("rank_1/segment"));
  CHECK(f.presenter->message(Side::kA).contains("hash"));
  f.go(tensor, 0, iteration);
  CHECK(f.presenter->available(Side::kA));
  CHECK(f.presenter->message(Side::kA).isEmpty());
  f.presenter->setComparison({Comparison::With::kRank, 1});
  f.settle();
  CHECK(f.presenter->available(Side::kA));
  CHECK(f.presenter->message(Side::kB).contains("rank_1/segment"));
  CHECK(!f.presenter->message(Side::kDifference).isEmpty());
}

TEST_CASE("The tables of the tensor panel are proper models at every step") {
  Fixture f(test::nanRun());
  TensorTableModel a(*f.presenter, Side::kA), difference(*f.presenter, Side::kDifference);
  StatisticsModel statistics(*f.presenter);
  using Mode = QAbstractItemModelTester::FailureReportingMode;
  QAbstractItemModelTester testers[] = {
      {&a, Mode::Fatal}, {&difference, Mode::Fatal}, {&statistics, Mode::Fatal}};
  CHECK(a.rowCount() == 0);
  f.go("conv2/Conv-op1", 1, 4);
  CHECK(a.rowCount() == f.presenter->plane().rows());
  CHECK(difference.rowCount() == 0);
  f.presenter->setComparison({Comparison::With::kPrevious, 0});
  f.settle();
  CHECK(difference.rowCount() == a.rowCount());
  f.presenter->setRowDimension(0);
  f.settle();
  const replay::NonFinite::Element first = f.presenter->answer()->nonFinite.first.front();
  f.presenter->showElement(first.flatIndex);
  f.settle();
  const QModelIndex cell = a.index(static_cast<int>(f.presenter->plane().rowOf(first.flatIndex)),
                                   static_cast<int>(f.presenter->plane().columnOf(first.flatIndex)));
  CHECK(cell.data().toString() == "nan");
  CHECK(cell.data(TensorTableModel::kClassRole).toInt() == static_cast<int>(TensorTableModel::Class::kNan));
  f.document->cursor().clearSelection();
  f.settle();
  CHECK(a.rowCount() == 0);
  CHECK(statistics.rowCount() == 0);
  CHECK(f.presenter->command().isEmpty());
}

TEST_CASE("TensorPresenter exports the same NPY as msdbg show, a CSV that reads back, and a PNG") {
  Fixture f(test::nanRun());
  test::TempDir folder;
  TensorPresenter& p = *f.presenter;
  QStringList errors;
  QObject::connect(&p, &TensorPresenter::failed, [&](const QString& message) { errors << message; });
  f.go("conv2/Conv-op1", 1, 4);
  p.exportNpy(QString::fromStdString((folder / "a.npy").string()));
  p.exportCsv(QString::fromStdString((folder / "a.csv").string()), Side::kA);
  p.exportPng(QString::fromStdString((folder / "a.png").string()), Side::kA, ColourMap::kAuto,
              {Qt::red, Qt::magenta, Qt::darkMagenta});
  f.settle();
  CHECK(errors.isEmpty());
  REQUIRE(test::runMsdbg({"show", f.path.string(), "--tensor", "network/conv2/Conv-op1", "--iteration", "4",
                          "--rank", "1", "--npy", (folder / "b.npy").string()})
              .exitStatus == 0);
  CHECK(bytesOf(folder / "a.npy") == bytesOf(folder / "b.npy"));
  const Json values = f.shown()["values"];
  std::istringstream csv(bytesOf(folder / "a.csv"));
  for (const Json& row : values) {
    std::string line, cell;
    REQUIRE(std::getline(csv, line));
    std::istringstream cells(line);
    for (const Json& value : row) {
      REQUIRE(std::getline(cells, cell, ','));
      CHECK(same(static_cast<double>(std::strtof(cell.c_str(), nullptr)), numberOf(value)));
    }
  }
  CHECK(QImage(QString::fromStdString((folder / "a.png").string())).width() >= 256);
  CHECK(!std::filesystem::exists(folder / "a.npy.part"));

  p.exportNpy("/no/such/folder/a.npy");
  f.settle();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].contains("/no/such/folder/a.npy"));
}

TEST_CASE("TensorPresenter makes pictures and histograms only while they are looked at") {
  Fixture f(test::nanRun());
  TensorPresenter& p = *f.presenter;
  f.go("conv2/Conv-op1", 1, 4);
  CHECK(p.picture(Side::kA).image.isNull());
  CHECK(!p.histograms().a);
  p.watchPictures(true, {ColourMap::kAuto, QSize(300, 300)});
  p.watchHistograms(true);
  f.settle();
  CHECK(!p.picture(Side::kA).image.isNull());
  REQUIRE(p.histograms().a);
  std::int64_t finite = 0;
  for (const std::int64_t count : p.histograms().a->bins) finite += count;
  const Json statistics = f.shown()["statistics"];
  CHECK(p.histograms().a->nan == statistics["nan"].get<std::int64_t>());
  CHECK(p.histograms().a->zero == statistics["zero"].get<std::int64_t>());
  CHECK(finite + statistics["nan"].get<std::int64_t>() + statistics["inf"].get<std::int64_t>() ==
        statistics["count"].get<std::int64_t>());
  p.watchPictures(false);
  f.document->cursor().stepIteration(1);
  f.settle();
  CHECK(p.picture(Side::kA).image.isNull());
}

#include "app/presenters/session_store.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QStandardPaths>
#include <catch2/catch.hpp>

#include "tests/gui/support/gui.h"
#include "tests/gui/support/runs.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace msdbg::app {
namespace {

namespace fs = std::filesystem;

QByteArray textOf(const fs::path& file) {
  QFile f(QString::fromStdString(file.string()));
  return f.open(QIODevice::ReadOnly) ? f.readAll() : QByteArray();
}

void write(const fs::path& file, const QByteArray& text) {
  QFile f(QString::fromStdString(file.string()));
  REQUIRE(f.open(QIODevice::WriteOnly));
  REQUIRE(f.write(text) == text.size());
}

QString findingsText(const Findings& findings) {
  QStringList texts;
  for (const Findings::Entry& entry : findings.entries())
    texts << (entry.enabled ? "+" : "-") + QString::fromStdString(entry.watchpoint.text()) +
                 (entry.watchpoint.recommended ? "!" : "");
  return texts.join(' ');
}

TEST_CASE("Two windows on one run each write what they changed, whichever ends last") {
  test::gui();
  const test::TempDir folder;
  write(folder / "session.json",
        R"({"schema":"session/1","place":{"rank":0},"watchpoints":["old"],"mark":1})");
  SessionStore first(folder.path(), SessionStore::load(folder.path()));
  SessionStore second(folder.path(), SessionStore::load(folder.path()));
  first.set("watchpoints", QJsonArray{"new"});
  first.set("mark", QJsonValue::Undefined);
  first.flush();
  second.set("place", QJsonObject{{"rank", 1}});
  second.flush();
  const QJsonObject kept = SessionStore::load(folder.path()).content;
  CHECK(kept["watchpoints"].toArray() == QJsonArray{"new"});
  CHECK(kept["place"].toObject()["rank"].toInt() == 1);
  CHECK_FALSE(kept.contains("mark"));
}

TEST_CASE("What a store is given while it changes all the time is written all the same") {
  test::gui();
  const test::TempDir folder;
  SessionStore store(folder.path(), SessionStore::load(folder.path()));
  const QString file = QString::fromStdString((folder / "session.json").string());
  int rank = 0;
  CHECK(test::eventually([&] {
    store.set("place", QJsonObject{{"rank", ++rank}});
    return QFile::exists(file);
  }));
}

TEST_CASE("A change of the watchpoints can be taken back, step by step") {
  const auto document = test::openDocument(test::nanRun());
  Findings& findings = document->findings();
  const QString before = findingsText(findings);
  CHECK_FALSE(findings.canUndo());
  findings.remove(0);
  findings.setEnabled(0, false);
  const QString later = findingsText(findings);
  findings.resetToRecommended();
  findings.undo();
  CHECK(findingsText(findings) == later);
  findings.undo();
  findings.undo();
  CHECK(findingsText(findings) == before);
  CHECK_FALSE(findings.canUndo());
}

TEST_CASE("SessionStore keeps what it is given, and the keys that it does not know") {
  test::gui();
  const test::TempDir folder;
  write(folder / "session.json", R"({"schema":"session/1","notes":["mine"],"place":{}})");
  {
    SessionStore store(folder.path(), SessionStore::load(folder.path()));
    CHECK(store.problem().isEmpty());
    CHECK_FALSE(store.hasPlace());
    store.set("place", QJsonObject{{"rank", 1}});
    CHECK(store.hasPlace());
  }  // saved by the destructor
  const SessionStore::Loaded loaded = SessionStore::load(folder.path());
  CHECK(loaded.content["place"].toObject()["rank"].toInt() == 1);
  CHECK(loaded.content["notes"].toArray().at(0).toString() == "mine");
  CHECK(loaded.content["schema"].toString() == "session/1");
}

TEST_CASE("SessionStore writes by itself a moment after a change") {
  test::gui();
  const test::TempDir folder;
  SessionStore store(folder.path(), {});
  store.set("panels", QJsonObject{{"timeline", QJsonObject{{"log", true}}}});
  CHECK(test::eventually([&] { return textOf(folder / "session.json").contains("timeline"); }, 5));
}

TEST_CASE("SessionStore says what is wrong with a damaged file and puts it aside at the first change") {
  test::gui();
  const QByteArray damaged = GENERATE(QByteArray("{\"schema\":\"sess"), QByteArray("[1, 2]"),
                                      QByteArray(R"({"schema":"session/2","place":{"rank":0}})"));
  const test::TempDir folder;
  write(folder / "session.json", damaged);
  {
    SessionStore store(folder.path(), SessionStore::load(folder.path()));
    CHECK(store.problem().toStdString().find((folder / "session.json").string()) == 0);
    CHECK(store.object("place").isEmpty());
  }
  CHECK(textOf(folder / "session.json") == damaged);  // nothing changed, nothing written
  {
    SessionStore store(folder.path(), SessionStore::load(folder.path()));
    store.set("place", QJsonObject{{"rank", 1}});
  }
  CHECK(textOf(folder / "session.json.damaged") == damaged);
  CHECK(SessionStore::load(folder.path()).problem.isEmpty());
}

TEST_CASE("SessionStore uses the user's folder where the run's cannot be written") {
  test::gui();
  QStandardPaths::setTestModeEnabled(true);
  const test::TempDir folder;
  fs::create_directories(folder /
                         "session.json/in the way");  // the tests may run as root: no mode stops that
  {
    SessionStore store(folder.path(), SessionStore::load(folder.path()));
    store.set("place", QJsonObject{{"rank", 3}});
  }
  CHECK(SessionStore::load(folder.path()).content["place"].toObject()["rank"].toInt() == 3);
  CHECK(SessionStore::load(folder / "another").content.isEmpty());
}

TEST_CASE("SessionStore says why neither place takes the session, and the window works on") {
  test::gui();
  const bool testMode = QStandardPaths::isTestModeEnabled();  // it has a place of its own
  QStandardPaths::setTestModeEnabled(false);
  const QByteArray before = qgetenv("XDG_DATA_HOME");
  qputenv("XDG_DATA_HOME", "/dev/null");
  QString said;
  {
    SessionStore store("/dev/null/run.msdbg", SessionStore::load("/dev/null/run.msdbg"));
    QObject::connect(&store, &SessionStore::failed, &store, [&](const QString& message) { said = message; });
    store.set("place", QJsonObject{{"rank", 1}});
    store.flush();
    CHECK(test::eventually([&] { return !said.isEmpty(); }, 5));
    CHECK(store.hasPlace());
  }
  CHECK(said.startsWith("the session was not kept: /dev/null/run.msdbg/session.json"));
  QStandardPaths::setTestModeEnabled(testMode);
  before.isNull() ? qunsetenv("XDG_DATA_HOME") : qputenv("XDG_DATA_HOME", before);
}

TEST_CASE("A session in the run's folder is no damage: verify and info are content") {
  test::gui();
  const test::TempDir folder;
  const fs::path run = test::copyOf(test::cleanRun(), folder.path());
  {
    const auto document = test::openDocument(run);
    document->session().set("place", QJsonObject{{"iteration", 3}});
  }
  REQUIRE(fs::exists(run / "session.json"));
  CHECK(test::runMsdbg({"verify", run.string()}).exitStatus == 0);
  CHECK(test::runMsdbg({"info", run.string()}).exitStatus == 0);
  CHECK(test::openDocument(run)->session().object("place")["iteration"].toInt() == 3);
}

TEST_CASE("Watchpoints come back with the run; those that are gone are named") {
  test::gui();
  const test::TempDir folder;
  const fs::path run = test::copyOf(test::cleanRun(), folder.path());
  QString changed;
  {
    const auto document = test::openDocument(run);
    Findings& findings = document->findings();
    findings.setEnabled(2, false);
    findings.remove(0);
    findings.add(*watch::parseWatchpoint("gradient_vanishing:abs_mean_lt=0.25"));
    changed = findingsText(findings);
  }
  {
    const auto document = test::openDocument(run);
    CHECK(findingsText(document->findings()) == changed);
    CHECK(document->findings().stale());
    CHECK(document->session().problem().isEmpty());
    QJsonArray kept = document->session().value("watchpoints").toArray();
    kept.append(QJsonObject{{"text", "no_such_condition"}, {"enabled", true}});
    document->session().set("watchpoints", kept);
  }
  const auto document = test::openDocument(run);
  CHECK(findingsText(document->findings()) == changed);
  CHECK(document->session().problem().contains("no_such_condition"));
}

TEST_CASE("The recommended set is not kept: a newer msdbg may recommend more") {
  test::gui();
  const test::TempDir folder;
  const fs::path run = test::copyOf(test::cleanRun(), folder.path());
  {
    const auto document = test::openDocument(run);
    document->findings().setEnabled(0, false);
    CHECK(document->session().value("watchpoints").isArray());
    document->findings().setEnabled(0, true);
    CHECK(document->session().value("watchpoints").isUndefined());
  }
  CHECK(test::openDocument(run)->findings().isRecommendedSet());
}

}  // namespace
}  // namespace msdbg::app

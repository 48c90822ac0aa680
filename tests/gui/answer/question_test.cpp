#include "app/async/question.h"

#include <signal.h>

#include <QElapsedTimer>
#include <QRegularExpression>
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/gui/answer/fake_program.h"
#include "tests/gui/support/gui.h"

namespace msdbg::test {
namespace {

struct Asking {
  Asking() {
    gui();
    QObject::connect(&question, &app::Question::answered, &question, [this](const app::Reply& r) {
      reply = r;
      ++answers;
    });
    QObject::connect(&question, &app::Question::progressed, &question,
                     [this](const QString& line) { progress << line; });
  }
  const app::Reply& ask(const QStringList& words = {"why"}) {
    question.ask(words);
    REQUIRE(eventually([&] { return answers > 0; }));
    CHECK_FALSE(question.running());
    return reply;
  }
  app::Question question;
  app::Reply reply;
  QStringList progress;
  int answers = 0;
};

}  // namespace

TEST_CASE("A question gathers what the command prints, and its progress beside it", "[gui]") {
  const FakeProgram program(
      "echo \"asked: $*\"\necho 'computing iteration 1 of 2' >&2\necho two >&2\nexit 3");
  Asking asking;
  const app::Reply& reply = asking.ask({"why", "a b", "--index", "1,2"});
  CHECK(reply.exitStatus == 3);
  CHECK(reply.text == "asked: why a b --index 1,2\n");
  CHECK(reply.problem.isEmpty());
  CHECK(asking.progress == QStringList{"computing iteration 1 of 2", "two"});
}

TEST_CASE("Errors and warnings of a command are told from its progress", "[gui]") {
  const FakeProgram program(
      "echo 'step 1' >&2\necho 'msdbg: warning: less' >&2\nprintf 'msdbg: error: no such run' >&2\nexit 1");
  Asking asking;
  CHECK(asking.ask().exitStatus == 1);
  CHECK(asking.reply.problem == "warning: less\nno such run");
  CHECK(asking.progress == QStringList{"step 1"});
}

TEST_CASE("A command that a signal ends, or that is not there, says so", "[gui]") {
  {
    const FakeProgram program("echo 'terminate called' >&2\nkill -9 $$");
    Asking asking;
    CHECK(asking.ask().exitStatus == app::Reply::kNoStatus);
    CHECK(asking.reply.problem == "signal 9 ended msdbg: terminate called");
  }
  const FakeProgram none("");
  Asking asking;
  CHECK(asking.ask().exitStatus == app::Reply::kNoStatus);
  CHECK_THAT(asking.reply.problem.toStdString(), Catch::Contains("neither beside this one nor on PATH"));
}

TEST_CASE("Of a command that prints without end only so much is kept", "[gui]") {
  const FakeProgram program("yes 'a line of some length that is said again' | head -c 3000000");
  Asking asking;
  CHECK(asking.ask().exitStatus == 0);
  CHECK(asking.reply.cut);
  CHECK(asking.reply.text.size() == app::Question::kMostText);
}

TEST_CASE("To cancel a question, or to ask another, ends its process at once", "[gui]") {
  const FakeProgram program("echo \"$$ $1\" >> \"$0.pids\"\n[ \"$1\" = quick ] || exec sleep 60");
  Asking asking;
  const auto pids = [&] {
    std::ifstream file(program.file("msdbg.pids"));
    std::vector<pid_t> all;
    std::string word;
    for (pid_t pid = 0; file >> pid >> word;) all.push_back(pid);
    return all;
  };
  asking.question.ask({"slow"});
  REQUIRE(eventually([&] { return pids().size() == 1; }));
  QElapsedTimer timer;
  timer.start();
  asking.question.cancel();
  CHECK(timer.elapsed() < 1000);
  CHECK_FALSE(asking.question.running());
  CHECK(::kill(pids()[0], 0) != 0);
  asking.question.ask({"slow"});
  REQUIRE(eventually([&] { return pids().size() == 2; }));
  CHECK(asking.ask({"quick"}).exitStatus == 0);
  CHECK(::kill(pids()[1], 0) != 0);
  CHECK(asking.answers == 1);
}

}  // namespace msdbg::test

#include "app/async/computed_value.h"

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStandardPaths>

#include "core_engine/tensor/dtype.h"

namespace msdbg::app {

using core::Error;
using core::ErrorCode;
using core::Result;
using core::Tensor;

namespace {

constexpr int kMostMsToEnd = 1000;  // that a process that was killed has to end

}  // namespace

QString msdbgProgram() {
  const QString beside = QCoreApplication::applicationDirPath() + QStringLiteral("/msdbg");
  if (QFileInfo(beside).isExecutable()) return beside;
  return QStandardPaths::findExecutable(QStringLiteral("msdbg"));
}

void ComputedValue::start(const std::filesystem::path& run, const std::string& tensor, core::Rank rank,
                          core::Iteration iteration) {
  cancel();
  const QString program = msdbgProgram();
  if (program.isEmpty()) {
    emit failed(tr("the program msdbg, which computes, is neither beside this one nor on PATH"));
    return;
  }
  m_folder = std::make_unique<QTemporaryDir>();
  m_said.clear();
  m_process = std::make_unique<QProcess>();
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert(QStringLiteral("MSDBG_PROGRESS_LINES"), QStringLiteral("1"));
  m_process->setProcessEnvironment(environment);
  connect(m_process.get(), &QProcess::readyReadStandardError, this, &ComputedValue::readProgress);
  connect(m_process.get(), &QProcess::finished, this, [this](int status) { finish(status); });
  connect(m_process.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) finish(-1);
  });
  m_process->start(program,
                   {QStringLiteral("show"), QString::fromStdString(run.string()), QStringLiteral("--tensor"),
                    QString::fromStdString(tensor), QStringLiteral("--rank"), QString::number(rank.value),
                    QStringLiteral("--iteration"), QString::number(iteration.value), QStringLiteral("--json"),
                    QStringLiteral("--bytes"), m_folder->filePath(QStringLiteral("value"))});
}

void ComputedValue::cancel() {
  if (!m_process) return;
  m_process->disconnect(this);
  m_process->kill();
  m_process->waitForFinished(kMostMsToEnd);
  m_process.reset();
  m_folder.reset();
}

void ComputedValue::readProgress() {
  for (const QByteArray& line : m_process->readAllStandardError().split('\n')) {
    if (line.trimmed().isEmpty()) continue;
    m_said = line.trimmed();
    emit progressed(QString::fromUtf8(m_said));
  }
}

void ComputedValue::finish(int exitStatus) {
  readProgress();
  const QByteArray answer = m_process->readAllStandardOutput();
  const QString couldNot = m_process->errorString();
  bool other = false;
  const Result<Tensor> value = readValue(answer, &other);
  m_process.release()->deleteLater();  // it is its signal that brought us here
  m_folder.reset();
  if (value.ok())
    emit computed(*value, other);
  else if (!m_said.isEmpty())
    emit failed(QString::fromUtf8(m_said));
  else
    emit failed(exitStatus < 0 ? couldNot : QString::fromStdString(value.error().message()));
}

Result<Tensor> ComputedValue::readValue(const QByteArray& answer, bool* other) const {
  const QJsonObject json = QJsonDocument::fromJson(answer).object();
  const auto dtype = core::dtypeFromName(json.value(QLatin1String("dtype")).toString().toStdString());
  QFile file(m_folder->filePath(QStringLiteral("value")));
  if (!dtype || !file.open(QIODevice::ReadOnly)) return Error(ErrorCode::kUnavailable, "msdbg gave no value");
  std::vector<std::int64_t> dims;
  for (const QJsonValue& dim : json.value(QLatin1String("shape")).toArray())
    dims.push_back(static_cast<std::int64_t>(dim.toDouble()));
  Tensor value(*dtype, core::Shape(std::move(dims)));
  const QByteArray bytes = file.readAll();
  if (static_cast<std::size_t>(bytes.size()) != value.bytes())
    return Error(ErrorCode::kInternal, "msdbg gave a value of another size than it says");
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(value.raw()));
  const QJsonObject computed = json.value(QLatin1String("computed")).toObject();
  *other = computed.value(QLatin1String("evidence")).toString() == QLatin1String("other_hash");
  return value;
}

}  // namespace msdbg::app

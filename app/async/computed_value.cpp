#include "app/async/computed_value.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "core_engine/tensor/dtype.h"

namespace msdbg::app {

using core::Error;
using core::ErrorCode;
using core::Result;
using core::Tensor;

ComputedValue::ComputedValue(QObject* parent) : QObject(parent) {
  connect(&m_question, &Question::progressed, this, &ComputedValue::progressed);
  connect(&m_question, &Question::answered, this, &ComputedValue::finish);
}

void ComputedValue::start(const std::filesystem::path& run, const std::string& tensor, core::Rank rank,
                          core::Iteration iteration) {
  cancel();
  m_folder = std::make_unique<QTemporaryDir>();
  m_question.ask({QStringLiteral("show"), QString::fromStdString(run.string()), QStringLiteral("--tensor"),
                  QString::fromStdString(tensor), QStringLiteral("--rank"), QString::number(rank.value),
                  QStringLiteral("--iteration"), QString::number(iteration.value), QStringLiteral("--json"),
                  QStringLiteral("--bytes"), m_folder->filePath(QStringLiteral("value"))});
}

void ComputedValue::cancel() {
  m_question.cancel();
  m_folder.reset();
}

void ComputedValue::finish(const Reply& reply) {
  bool other = false;
  const Result<Tensor> value = readValue(reply.text, &other);
  m_folder.reset();
  if (value.ok())
    emit computed(*value, other);
  else
    emit failed(reply.problem.isEmpty() ? QString::fromStdString(value.error().message()) : reply.problem);
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

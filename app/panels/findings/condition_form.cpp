#include "app/panels/findings/condition_form.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <algorithm>

#include "core_engine/base/text.h"

namespace msdbg::app {
namespace {

QString view(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QLabel* wrapped(QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setWordWrap(true);
  return label;
}

const watch::ParameterSpec* tensorsField(const watch::ConditionDef& condition) {
  for (const watch::ParameterSpec& spec : condition.parameters)
    if (spec.type == watch::ParameterType::kTensors) return &spec;
  return nullptr;
}

ConditionDraft draftOf(const watch::ConditionDef& condition, const QString& tensor) {
  ConditionDraft draft{&condition, {}};
  const watch::ParameterSpec* field = tensorsField(condition);
  if (field && !tensor.isEmpty()) draft.fields[std::string(field->name)] = tensor;
  return draft;
}

}  // namespace

ConditionForm::ConditionForm(QWidget* parent)
    : QWidget(parent),
      m_condition(new QComboBox(this)),
      m_doc(nullptr),
      m_error(wrapped(this)),
      m_ok(new QPushButton(QStringLiteral("OK"), this)),
      m_cancel(new QPushButton(QStringLiteral("Cancel"), this)) {
  m_condition->setObjectName(QStringLiteral("conditionCombo"));
  m_condition->setAccessibleName(QStringLiteral("Condition"));
  m_condition->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  m_condition->setMinimumContentsLength(18);
  for (const watch::ConditionDef& condition : watch::allConditions()) {
    m_condition->addItem(view(condition.title), view(condition.id));
    m_condition->setItemData(m_condition->count() - 1, view(condition.doc), Qt::ToolTipRole);
  }
  m_error->setObjectName(QStringLiteral("conditionError"));
  m_ok->setObjectName(QStringLiteral("conditionOk"));
  m_cancel->setObjectName(QStringLiteral("conditionCancel"));
  makeLayout();
  connect(m_condition, &QComboBox::activated, this, [this](int index) {
    setDraft(draftOf(watch::allConditions()[static_cast<std::size_t>(index)], m_tensor));
  });
  connect(m_ok, &QPushButton::clicked, this, &ConditionForm::accept);
  connect(m_cancel, &QPushButton::clicked, this, &ConditionForm::cancelled);
  start();
}

void ConditionForm::makeLayout() {
  auto* scroll = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* inside = new QWidget(scroll);
  m_fieldsPlace = new QVBoxLayout(inside);
  m_fieldsPlace->setContentsMargins(0, 0, 6, 0);
  m_doc = wrapped(inside);
  m_fieldsPlace->addWidget(m_doc);
  scroll->setWidget(inside);

  auto* buttons = new QHBoxLayout;
  buttons->addStretch(1);
  buttons->addWidget(m_cancel);
  buttons->addWidget(m_ok);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 6, 8, 6);
  layout->addWidget(m_condition);
  layout->addWidget(scroll, 1);
  layout->addWidget(m_error);
  layout->addLayout(buttons);
}

void ConditionForm::start() {
  m_tensor.clear();
  setDraft({&watch::allConditions().front(), {}});
}

void ConditionForm::start(const watch::Watchpoint& watchpoint) {
  m_tensor.clear();
  setDraft(ConditionDraft::of(watchpoint));
}

void ConditionForm::startOn(const QString& tensor) {
  m_tensor = tensor;
  const auto looksAtChosen = [](const watch::ConditionDef& condition) { return tensorsField(condition); };
  setDraft(draftOf(*std::ranges::find_if(watch::allConditions(), looksAtChosen), tensor));
}

void ConditionForm::setGraph(std::shared_ptr<const core::Graph> graph) {
  m_graph = std::move(graph);
  validate();
}

void ConditionForm::setDraft(ConditionDraft draft) {
  m_draft = std::move(draft);
  m_condition->setCurrentIndex(m_condition->findData(view(m_draft.condition->id)));
  m_doc->setText(view(m_draft.condition->doc));
  makeFields();
  validate();
  if (isVisible()) takeFocus();
}

void ConditionForm::takeFocus() {
  (m_firstField ? static_cast<QWidget*>(m_firstField) : m_condition)->setFocus();
}

void ConditionForm::makeFields() {
  delete m_fields;
  m_firstField = nullptr;
  m_fields = new QWidget(this);
  auto* layout = new QVBoxLayout(m_fields);
  layout->setContentsMargins(0, 6, 0, 0);
  layout->setSpacing(2);
  for (const watch::ParameterSpec& spec : m_draft.condition->parameters) addField(spec, *layout);
  if (m_draft.condition->parameters.empty())
    layout->addWidget(new QLabel(QStringLiteral("It takes no parameters."), m_fields));
  layout->addStretch(1);
  m_fieldsPlace->addWidget(m_fields, 1);
}

void ConditionForm::addField(const watch::ParameterSpec& spec, QVBoxLayout& layout) {
  auto* label = wrapped(m_fields);
  label->setText(QStringLiteral("<b>%1</b>, %2: %3")
                     .arg(view(spec.name), rangeText(spec.type), view(spec.doc).toHtmlEscaped()));
  auto* field = new QLineEdit(m_draft.fields[std::string(spec.name)], m_fields);
  field->setObjectName(view(spec.name));
  field->setAccessibleName(view(spec.name));
  field->setToolTip(view(spec.doc));
  field->setPlaceholderText(
      spec.defaultValue ? QString::fromStdString(core::formatDouble(*spec.defaultValue)) + " (default)"
      : spec.isNumber() ? QStringLiteral("not used")
                        : QStringLiteral("not given"));
  label->setBuddy(field);
  if (!m_firstField) m_firstField = field;
  connect(field, &QLineEdit::textChanged, this, [this, name = std::string(spec.name)](const QString& text) {
    m_draft.fields[name] = text;
    validate();
  });
  connect(field, &QLineEdit::returnPressed, this, &ConditionForm::accept);
  layout.addWidget(label);
  layout.addWidget(field);
  layout.addSpacing(6);
}

void ConditionForm::validate() {
  const auto watchpoint = m_draft.watchpoint(m_graph.get());
  m_ok->setEnabled(watchpoint.ok());
  m_error->setText(watchpoint.ok() ? QString() : QString::fromStdString(watchpoint.error().message()));
  m_error->setVisible(!watchpoint.ok());
}

void ConditionForm::accept() {
  const auto watchpoint = m_draft.watchpoint(m_graph.get());
  if (watchpoint.ok()) emit accepted(*watchpoint);
}

void ConditionForm::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape)
    emit cancelled();
  else
    QWidget::keyPressEvent(event);
}

void ConditionForm::setLook(const graphview::Look& look) {
  m_look = look;
  const auto colour = [](QLabel* label, const QColor& color) {
    QPalette palette = label->palette();
    palette.setColor(QPalette::WindowText, color);
    label->setPalette(palette);
  };
  colour(m_error, look.hint);
  colour(m_doc, look.mutedText);
}

}  // namespace msdbg::app

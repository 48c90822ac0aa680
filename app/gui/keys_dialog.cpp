#include "app/gui/keys_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/gui/actions.h"
#include "app/panels/builtin_panels.h"

namespace msdbg::app {
namespace {

QString keysText(const QList<QKeySequence>& keys) {
  QStringList texts;
  for (const QKeySequence& key : keys) texts << key.toString(QKeySequence::NativeText);
  return texts.join(", ");
}

class Groups {
 public:
  explicit Groups(QTreeWidget& tree) : m_tree(tree) {}
  void add(QString group, const QString& keys, const QString& what) {
    group.remove('&');
    if (!m_group || m_group->text(0) != group) {
      m_group = new QTreeWidgetItem(&m_tree, {group});
      QFont bold = m_tree.font();
      bold.setBold(true);
      m_group->setFont(0, bold);
      m_group->setFirstColumnSpanned(true);
      m_group->setFlags(Qt::ItemIsEnabled);
    }
    new QTreeWidgetItem(m_group, {keys, what});
  }

 private:
  QTreeWidget& m_tree;
  QTreeWidgetItem* m_group = nullptr;
};

void fill(QTreeWidget& tree) {
  Groups groups(tree);
  for (const WindowAction& action : windowActions())
    if (!action.keys.isEmpty()) groups.add(action.menu, keysText(action.keys), action.help);
  for (const PanelFactory factory : builtinPanels()) {
    const PanelDef def = factory();
    groups.add("Panels", QKeySequence(def.shortcut).toString(QKeySequence::NativeText),
               QString("show and go to %1").arg(def.title));
  }
  for (const PanelFactory factory : builtinPanels()) {
    const PanelDef def = factory();
    for (const PanelKeys& keys : def.keys) groups.add(QString("In %1").arg(def.title), keys.keys, keys.help);
  }
}

// A row stays when any of its texts holds the words; a group with its rows.
void filter(QTreeWidget& tree, const QString& words) {
  for (int g = 0; g < tree.topLevelItemCount(); ++g) {
    QTreeWidgetItem* group = tree.topLevelItem(g);
    bool any = false;
    for (int i = 0; i < group->childCount(); ++i) {
      QTreeWidgetItem* row = group->child(i);
      const bool shown = row->text(0).contains(words, Qt::CaseInsensitive) ||
                         row->text(1).contains(words, Qt::CaseInsensitive);
      row->setHidden(!shown);
      any |= shown;
    }
    group->setHidden(!any);
  }
}

}  // namespace

KeysDialog::KeysDialog(QWidget* parent) : QDialog(parent) {
  setObjectName("keysDialog");
  setWindowTitle("Keys");
  resize(620, 640);
  auto* column = new QVBoxLayout(this);
  auto* find = new QLineEdit(this);
  find->setPlaceholderText("Find a key or what it does");
  find->setClearButtonEnabled(true);
  column->addWidget(find);
  auto* tree = new QTreeWidget(this);
  tree->setObjectName("keys");
  tree->setColumnCount(2);
  tree->setHeaderHidden(true);
  tree->setIndentation(12);
  tree->setSelectionMode(QAbstractItemView::NoSelection);
  fill(*tree);
  tree->expandAll();
  tree->resizeColumnToContents(0);
  tree->setColumnWidth(0, tree->columnWidth(0) + 24);
  column->addWidget(tree, 1);
  connect(find, &QLineEdit::textChanged, tree, [tree](const QString& words) { filter(*tree, words); });
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  column->addWidget(buttons);
}

}  // namespace msdbg::app

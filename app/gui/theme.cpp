#include "app/gui/theme.h"

#include <QApplication>
#include <QDBusConnection>
#include <QDBusMessage>
#include <QPainter>
#include <QPalette>
#include <QProxyStyle>
#include <QSettings>
#include <QStyleFactory>
#include <QStyleOption>

namespace msdbg::app {
namespace {

// https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Settings.html
constexpr auto kService = "org.freedesktop.portal.Desktop", kPath = "/org/freedesktop/portal/desktop",
               kInterface = "org.freedesktop.portal.Settings", kSpace = "org.freedesktop.appearance",
               kKey = "color-scheme";
constexpr uint kPreferDark = 1;
constexpr int kPatienceMs = 300;

QPalette lightPalette() {
  QPalette p;
  p.setColor(QPalette::Window, "#f3f4f6");
  p.setColor(QPalette::WindowText, "#1f2328");
  p.setColor(QPalette::Base, "#ffffff");
  p.setColor(QPalette::AlternateBase, "#f6f8fa");
  p.setColor(QPalette::Text, "#1f2328");
  p.setColor(QPalette::Button, "#eceef1");
  p.setColor(QPalette::ButtonText, "#1f2328");
  p.setColor(QPalette::BrightText, "#ffffff");
  p.setColor(QPalette::ToolTipBase, "#ffffff");
  p.setColor(QPalette::ToolTipText, "#1f2328");
  p.setColor(QPalette::PlaceholderText, "#6b7480");
  p.setColor(QPalette::Highlight, "#0969da");
  p.setColor(QPalette::HighlightedText, "#ffffff");
  p.setColor(QPalette::Link, "#0550ae");
  p.setColor(QPalette::Light, "#ffffff");
  p.setColor(QPalette::Midlight, "#e6e8eb");
  p.setColor(QPalette::Mid, "#b6bdc6");
  p.setColor(QPalette::Dark, "#8c959f");
  p.setColor(QPalette::Shadow, "#57606a");
  return p;
}

QPalette darkPalette() {
  QPalette p;
  p.setColor(QPalette::Window, "#22272e");
  p.setColor(QPalette::WindowText, "#dfe5ec");
  p.setColor(QPalette::Base, "#1a1e24");
  p.setColor(QPalette::AlternateBase, "#20252c");
  p.setColor(QPalette::Text, "#dfe5ec");
  p.setColor(QPalette::Button, "#2d333b");
  p.setColor(QPalette::ButtonText, "#dfe5ec");
  p.setColor(QPalette::BrightText, "#ffffff");
  p.setColor(QPalette::ToolTipBase, "#2d333b");
  p.setColor(QPalette::ToolTipText, "#dfe5ec");
  p.setColor(QPalette::PlaceholderText, "#8b96a3");
  p.setColor(QPalette::Highlight, "#316dca");
  p.setColor(QPalette::HighlightedText, "#ffffff");
  p.setColor(QPalette::Link, "#6cb6ff");
  p.setColor(QPalette::Light, "#444c56");
  p.setColor(QPalette::Midlight, "#373e47");
  p.setColor(QPalette::Mid, "#545d68");
  p.setColor(QPalette::Dark, "#14171b");
  p.setColor(QPalette::Shadow, "#0b0d10");
  return p;
}

QPalette withDisabled(QPalette p, const QColor& text) {
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    p.setColor(QPalette::Disabled, role, text);
  return p;
}

// The portal wraps the number in variants, once or twice depending on the call.
uint unwrapped(QVariant value) {
  while (value.canConvert<QDBusVariant>()) value = value.value<QDBusVariant>().variant();
  return value.toUInt();
}

// What the desktop's platform plug-in made the palette before we set ours, else what the portal says.
bool desktopPrefersDark() {
  if (QApplication::palette().color(QPalette::Window).lightness() < 128) return true;
  QDBusConnection bus = QDBusConnection::sessionBus();
  if (!bus.isConnected()) return false;
  QDBusMessage ask = QDBusMessage::createMethodCall(kService, kPath, kInterface, "Read");
  ask.setAutoStartService(false);
  ask << QString(kSpace) << QString(kKey);
  const QDBusMessage answer = bus.call(ask, QDBus::Block, kPatienceMs);
  return answer.type() == QDBusMessage::ReplyMessage && !answer.arguments().isEmpty() &&
         unwrapped(answer.arguments().first()) == kPreferDark;
}

constexpr auto kThemeKey = "theme";

// Fusion's outline of an empty check box is darker than a dark window: it cannot be seen.
class BoxesInSight : public QProxyStyle {
 public:
  BoxesInSight() : QProxyStyle(QStyleFactory::create("Fusion")) {}
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    if (element != PE_IndicatorCheckBox && element != PE_IndicatorItemViewItemCheck) return;
    painter->save();
    painter->setPen(option->palette.color(QPalette::PlaceholderText));
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
    painter->restore();
  }
};

}  // namespace

Theme keptTheme() {
  const QString kept = QSettings().value(kThemeKey).toString();
  return kept == "light" ? Theme::kLight : kept == "dark" ? Theme::kDark : Theme::kAuto;
}

void keepTheme(Theme theme) {
  QSettings().setValue(kThemeKey, theme == Theme::kLight ? "light" : theme == Theme::kDark ? "dark" : "auto");
}

ThemeController::ThemeController(QObject* parent) : QObject(parent) {}

void ThemeController::setTheme(Theme theme) {
  m_theme = theme;
  if (theme == Theme::kAuto) {
    m_desktopDark = desktopPrefersDark();
    QDBusConnection::sessionBus().connect(kService, kPath, kInterface, "SettingChanged", this,
                                          SLOT(settingChanged(QString, QString, QDBusVariant)));
  }
  apply();
}

void ThemeController::settingChanged(const QString& space, const QString& key, const QDBusVariant& value) {
  if (m_theme != Theme::kAuto || space != kSpace || key != kKey) return;
  m_desktopDark = unwrapped(value.variant()) == kPreferDark;
  apply();
}

void ThemeController::apply() {
  m_dark = m_theme == Theme::kDark || (m_theme == Theme::kAuto && m_desktopDark);
  QApplication::setStyle(new BoxesInSight);
  QApplication::setPalette(m_dark ? withDisabled(darkPalette(), "#768390")
                                  : withDisabled(lightPalette(), "#8c959f"));
}

}  // namespace msdbg::app

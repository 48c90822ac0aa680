#include "app/panels/source/source_colors.h"

#include <Qsci/qscilexercpp.h>
#include <Qsci/qscilexerpython.h>

#include <QApplication>
#include <QFontDatabase>
#include <QFontInfo>
#include <algorithm>

namespace msdbg::app {
namespace {

constexpr int kStyles = 128;

bool endsWithAny(const std::string& path, std::initializer_list<const char*> endings) {
  return std::ranges::any_of(endings, [&](const char* ending) { return path.ends_with(ending); });
}

void colourCpp(QsciLexer& lexer, const graphview::Look& look) {
  using Cpp = QsciLexerCPP;
  for (const int style : {Cpp::Comment, Cpp::CommentLine, Cpp::CommentDoc, Cpp::CommentLineDoc,
                          Cpp::PreProcessorComment, Cpp::PreProcessorCommentLineDoc})
    lexer.setColor(look.mutedText, style);
  for (const int style : {Cpp::DoubleQuotedString, Cpp::SingleQuotedString, Cpp::RawString,
                          Cpp::VerbatimString, Cpp::UnclosedString})
    lexer.setColor(look.ranks[2], style);
  for (const int style : {Cpp::Number, Cpp::UserLiteral}) lexer.setColor(look.ranks[1], style);
  for (const int style : {Cpp::Keyword, Cpp::KeywordSet2}) lexer.setColor(look.ranks[0], style);
  lexer.setColor(look.ranks[3], Cpp::PreProcessor);
}

void colourPython(QsciLexer& lexer, const graphview::Look& look) {
  using Python = QsciLexerPython;
  for (const int style : {Python::Comment, Python::CommentBlock}) lexer.setColor(look.mutedText, style);
  for (const int style :
       {Python::DoubleQuotedString, Python::SingleQuotedString, Python::TripleSingleQuotedString,
        Python::TripleDoubleQuotedString, Python::UnclosedString, Python::DoubleQuotedFString,
        Python::SingleQuotedFString, Python::TripleSingleQuotedFString, Python::TripleDoubleQuotedFString})
    lexer.setColor(look.ranks[2], style);
  lexer.setColor(look.ranks[1], Python::Number);
  lexer.setColor(look.ranks[0], Python::Keyword);
  lexer.setColor(look.ranks[3], Python::Decorator);
}

}  // namespace

QsciLexer* lexerFor(const std::string& path, QObject* parent) {
  if (endsWithAny(path, {".py"})) return new QsciLexerPython(parent);
  if (endsWithAny(path, {".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hh", ".cu", ".cuh"}))
    return new QsciLexerCPP(parent);
  return nullptr;
}

void colour(QsciLexer& lexer, const graphview::Look& look, const QFont& font) {
  lexer.setDefaultFont(font);
  lexer.setDefaultColor(look.text);
  lexer.setDefaultPaper(look.background);
  for (int style = 0; style < kStyles; ++style) {
    if (lexer.description(style).isEmpty()) continue;
    lexer.setColor(look.text, style);
    lexer.setPaper(look.background, style);
    lexer.setFont(font, style);
    lexer.setEolFill(false, style);
  }
  if (qobject_cast<QsciLexerCPP*>(&lexer)) colourCpp(lexer, look);
  if (qobject_cast<QsciLexerPython*>(&lexer)) colourPython(lexer, look);
}

QFont sourceFont() {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  if (!QFontInfo(font).fixedPitch()) {  // a desktop without settings answers with its ordinary font
    font.setFamily(QStringLiteral("monospace"));
    font.setStyleHint(QFont::Monospace);
  }
  font.setPointSizeF(QApplication::font().pointSizeF());
  return font;
}

QColor mixed(const QColor& under, const QColor& over, double share) {
  const auto channel = [share](int a, int b) { return static_cast<int>(a + (b - a) * share + 0.5); };
  return {channel(under.red(), over.red()), channel(under.green(), over.green()),
          channel(under.blue(), over.blue())};
}

}  // namespace msdbg::app

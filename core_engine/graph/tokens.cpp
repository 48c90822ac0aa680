#include "core_engine/graph/tokens.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace msdbg::core {
namespace {

bool isNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

/// u8R, LR, … are prefixes of raw strings; u8, L, … of others.
bool isLiteralPrefix(std::string_view name) {
  if (name.ends_with('R')) name.remove_suffix(1);
  return name.empty() || name == "u8" || name == "u" || name == "U" || name == "L";
}

}  // namespace

Token Tokens::next() {
  skipSpace();
  if (m_at >= m_text.size()) return {};
  const bool directive = m_lineStart && m_text[m_at] == '#';
  Token token{directive ? TokenKind::kDirective : TokenKind::kText, {}, m_line, m_line, false};
  token.attribute = m_text[m_at] == '[' && at(m_at + 1) == '[';
  const std::size_t start = m_at;
  m_lineStart = false;
  directive ? skipDirective() : skipToken();
  token.text = m_text.substr(start, m_at - start);
  token.lastLine = m_line;
  return token;
}

void Tokens::skipTo(std::size_t end) {
  end = std::min(end, m_text.size());
  m_line += static_cast<std::int32_t>(std::count(m_text.begin() + static_cast<std::ptrdiff_t>(m_at),
                                                 m_text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
  m_at = end;
}

void Tokens::skipSpace() {
  while (m_at < m_text.size()) {
    const char c = m_text[m_at];
    if (c == '/' && (at(m_at + 1) == '/' || at(m_at + 1) == '*')) {
      skipComment();
    } else if (std::isspace(static_cast<unsigned char>(c)) || c == '\\' || c == '\0') {
      if (c == '\n') m_lineStart = true;
      skipTo(m_at + 1);
    } else {
      return;
    }
  }
}

void Tokens::skipComment() {
  if (at(m_at + 1) == '*') {
    const std::size_t end = m_text.find("*/", m_at + 2);
    return skipTo(end == std::string_view::npos ? end : end + 2);
  }
  std::size_t end = m_text.find('\n', m_at);
  while (end != std::string_view::npos && m_text[end - 1] == '\\') end = m_text.find('\n', end + 1);
  skipTo(end);
}

/// To the end of the line; a backslash or an open comment carries it on.
void Tokens::skipDirective() {
  while (m_at < m_text.size() && m_text[m_at] != '\n') {
    if (m_text[m_at] == '/' && (at(m_at + 1) == '/' || at(m_at + 1) == '*'))
      skipComment();
    else if (m_text[m_at] == '\\')
      skipTo(m_at + (at(m_at + 1) == '\r' && at(m_at + 2) == '\n' ? 3 : 2));
    else
      skipTo(m_at + 1);
  }
}

/// A string or character; one that is not closed ends with its line.
void Tokens::skipQuoted(char quote) {
  std::size_t i = m_at + 1;
  while (i < m_text.size() && m_text[i] != quote && m_text[i] != '\n') i += m_text[i] == '\\' ? 2 : 1;
  skipTo(at(i) == quote ? i + 1 : i);
}

/// R"delimiter( … )delimiter"
void Tokens::skipRaw() {
  const std::size_t open = m_text.find_first_of("(\n\"", m_at + 1);
  if (at(open) != '(' || open - m_at > 17) return skipQuoted('"');  // a delimiter has at most 16 characters
  const std::string end = ")" + std::string(m_text.substr(m_at + 1, open - m_at - 1)) + "\"";
  const std::size_t close = m_text.find(end, open);
  skipTo(close == std::string_view::npos ? close : close + end.size());
}

void Tokens::skipNumber() {
  std::size_t i = m_at;
  while (isNameChar(at(i)) || at(i) == '.' || (at(i) == '\'' && isNameChar(at(i + 1)))) ++i;
  skipTo(i);
}

/// A quoted literal with its prefix, or a name: both start alike.
bool Tokens::skipLiteral() {
  std::size_t end = m_at;
  while (isNameChar(at(end))) ++end;
  const std::string_view name = m_text.substr(m_at, end - m_at);
  const char quote = at(end);
  const bool literal = (quote == '"' || quote == '\'') && isLiteralPrefix(name);
  skipTo(end);
  if (literal && quote == '"' && name.ends_with('R'))
    skipRaw();
  else if (literal)
    skipQuoted(quote);
  return literal || !name.empty();
}

void Tokens::skipToken() {
  if (isDigit(m_text[m_at])) return skipNumber();
  if (skipLiteral()) return;
  const std::string_view two = m_text.substr(m_at, 2);
  skipTo(m_at + (two == "::" || two == "->" ? 2 : 1));
}

}  // namespace msdbg::core

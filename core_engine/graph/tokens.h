// The tokens of C++ source text that statements.cpp needs: comments are skipped, literals are one token, a
// preprocessor line (with its continuations) is one token. Takes any bytes; linear.
#pragma once

#include <cstdint>
#include <string_view>

namespace msdbg::core {

enum class TokenKind { kText, kDirective, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // a name, a number, a literal with its quotes, "::", "->" or one character
  std::int32_t line = 0, lastLine = 0;
  bool attribute = false;  // the first '[' of "[["
};

class Tokens {
 public:
  explicit Tokens(std::string_view text) : m_text(text) {}
  Token next();

 private:
  char at(std::size_t i) const { return i < m_text.size() ? m_text[i] : '\0'; }
  void skipSpace();
  void skipComment();
  void skipTo(std::size_t end);
  void skipDirective();
  void skipQuoted(char quote);
  void skipRaw();
  void skipNumber();
  bool skipLiteral();
  void skipToken();

  std::string_view m_text;
  std::size_t m_at = 0;
  std::int32_t m_line = 1;
  bool m_lineStart = true;  // nothing but space so far on this line
};

}  // namespace msdbg::core

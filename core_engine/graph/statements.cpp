#include "core_engine/graph/statements.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "core_engine/graph/tokens.h"

namespace msdbg::core {
namespace {

template <std::size_t N>
bool oneOf(std::string_view text, const std::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), text) != std::end(words);
}

/// After these a '[' or '(' starts something new although they look like names.
bool isOperatorWord(std::string_view t) {
  static constexpr std::string_view kWords[] = {"return", "co_return", "co_yield", "co_await",
                                                "throw",  "case",      "else",     "do"};
  return oneOf(t, kWords);
}
bool isHeaderWord(std::string_view t) {
  static constexpr std::string_view kWords[] = {"if", "for", "while", "switch", "catch"};
  return oneOf(t, kWords);
}
bool isTypeWord(std::string_view t) {
  static constexpr std::string_view kWords[] = {"namespace", "struct", "class", "union", "enum"};
  return oneOf(t, kWords);
}
/// Between the parameters of a function and its body.
bool isQualifier(std::string_view t) {
  static constexpr std::string_view kWords[] = {"const",    "mutable", "noexcept",
                                                "override", "final",   "volatile"};
  return oneOf(t, kWords);
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : m_tokens(text) {}

  std::vector<Statement> run() {
    m_stack.push_back({Kind::kBlock});
    for (Token token = m_tokens.next(); token.kind != TokenKind::kEnd; token = m_tokens.next()) {
      if (token.kind == TokenKind::kDirective)
        m_statements.push_back({token.line, token.lastLine, depth()});
      else
        take(token);
    }
    while (m_stack.size() > 1) pop();
    endStatement();
    return std::move(m_statements);
  }

 private:
  enum class Kind { kBlock, kParenthesis, kBracket, kBrace };  // kBrace: an initialiser list

  struct Context {
    Kind kind;
    bool header = false;      // '(' of if, for, while …: what follows is another statement
    bool introducer = false;  // '[' of a lambda
    std::int32_t openLine = 0;
    // The statement in progress, of blocks; braces know it too in case they turn out to be blocks.
    std::int32_t first = 0, last = 0;
    std::int32_t tokens = 0;
    std::string_view firstWord = {};
    bool typeHeader = false;   // "struct X", "namespace y": the next '{' is a block
    bool lambda = false;       // a lambda's [] was seen: the next '{' is its body
    bool placeholder = false;  // "auto" was seen: a "->" after a ')' starts a return type
    bool trailing = false;     // it did: the next '{' is a function's body

    void clearStatement() {
      first = last = tokens = 0;
      firstWord = {};
      typeHeader = lambda = placeholder = trailing = false;
    }
  };

  Context& top() { return m_stack.back(); }
  std::int32_t depth() const { return static_cast<std::int32_t>(m_stack.size()); }

  void take(const Token& token) {
    const std::string_view t = token.text;
    if (t == "{")
      open(token);
    else if (t == "}")
      closeBrace(token);
    else if (t == ";")
      semicolon(token);
    else
      word(token);
    m_previous = t;
  }

  /// The token belongs to the statement in progress of the innermost context.
  void extend(const Token& token) {
    Context& c = top();
    if (c.first == 0) {
      c.first = token.line;
      c.firstWord = token.text;
    }
    c.last = token.lastLine;
    ++c.tokens;
  }

  void endStatement() {
    Context& c = top();
    if (c.first != 0) m_statements.push_back({c.first, c.last, depth()});
    c.clearStatement();
  }

  void word(const Token& token) {
    extend(token);
    const std::string_view t = token.text;
    if (t == "(")
      push(Kind::kParenthesis, token);
    else if (t == "[")
      push(Kind::kBracket, token);
    else if (t == ")" || t == "]")
      close(token);
    else
      note(t);
  }

  /// What decides later whether a '{' is a block.
  void note(std::string_view t) {
    Context& c = top();
    if (t == "=") c.typeHeader = c.lambda = c.placeholder = c.trailing = false;
    if (c.kind != Kind::kBlock) return;
    if (isTypeWord(t)) c.typeHeader = true;
    if (t == "auto") c.placeholder = true;
    if (t == "->" && c.placeholder && (m_previous == ")" || isQualifier(m_previous))) c.trailing = true;
    const bool label = t == ":" && (c.tokens == 2 || c.firstWord == "case");
    if (label || t == "else" || t == "do" || t == "try") endStatement();
  }

  void push(Kind kind, const Token& token) {
    Context context{kind};
    context.openLine = token.line;
    context.header = kind == Kind::kParenthesis && (isHeaderWord(m_previous) || afterConstexprIf());
    context.introducer = kind == Kind::kBracket && !token.attribute && !endsOperand(m_previous);
    if (kind == Kind::kParenthesis) top().typeHeader = false;
    m_stack.push_back(context);
  }

  bool afterConstexprIf() { return m_previous == "constexpr" && top().firstWord == "if"; }

  /// After an operand '[' is a subscript.
  static bool endsOperand(std::string_view t) {
    if (t.empty()) return false;
    const auto c = static_cast<unsigned char>(t.back());
    return t == ")" || t == "]" || t == "}" ||
           ((std::isalnum(c) || c == '_' || c == '"' || c >= 0x80) && !isOperatorWord(t));
  }

  void pop() {
    if (top().kind == Kind::kBlock) endStatement();
    const Context closed = top();
    m_stack.pop_back();
    if (closed.last > 0 && top().first != 0) top().last = std::max(top().last, closed.last);
  }

  void close(const Token& token) {
    const Kind wanted = token.text == ")" ? Kind::kParenthesis : Kind::kBracket;
    if (top().kind != wanted) return;  // unbalanced text: nothing to close
    const Context closed = top();
    m_stack.pop_back();
    if (top().first != 0) top().last = token.lastLine;
    if (closed.introducer) top().lambda = true;
    if (closed.header && top().kind == Kind::kBlock) endStatement();
  }

  void open(const Token& token) {
    Context& outer = top();
    const bool block = opensBlock(outer);
    const bool lambda = outer.lambda || outer.kind != Kind::kBlock;
    if (!block || lambda || outer.first != 0) extend(token);
    if (block && !lambda) endStatement();
    Context context{block ? Kind::kBlock : Kind::kBrace};
    context.openLine = token.line;
    outer.lambda = outer.trailing = false;
    ++m_openBraces;
    m_stack.push_back(context);
  }

  bool opensBlock(const Context& c) const {
    if (c.lambda || c.trailing || m_previous == ")" || isQualifier(m_previous)) return true;
    if (c.kind != Kind::kBlock) return false;
    // At the start of a statement; after a type's name; behind a constructor's member initialisers `a{1} {`.
    return c.first == 0 || c.typeHeader || m_previous == "}" || m_previous == ":" ||
           (m_previous.ends_with('"') && c.firstWord == "extern");
  }

  void closeBrace(const Token& token) {
    if (m_openBraces == 0) return;
    --m_openBraces;
    while (top().kind == Kind::kParenthesis || top().kind == Kind::kBracket) pop();
    pop();
    if (top().first != 0) top().last = token.lastLine;
  }

  void semicolon(const Token& token) {
    if (top().kind == Kind::kBrace) becomeBlock();
    if (top().kind != Kind::kBlock) return;
    if (top().first != 0) extend(token);
    endStatement();
  }

  /// A ';' shows that what looked like an initialiser list is a block: the statement before it was its
  /// header.
  void becomeBlock() {
    top().kind = Kind::kBlock;
    Context& outer = m_stack[m_stack.size() - 2];
    if (outer.kind != Kind::kBlock) return;
    if (outer.first != 0)
      m_statements.push_back({outer.first, std::max(outer.first, top().openLine), depth() - 1});
    outer.clearStatement();
  }

  Tokens m_tokens;
  std::vector<Context> m_stack;
  std::vector<Statement> m_statements;
  std::string_view m_previous;
  std::int64_t m_openBraces = 0;
};

}  // namespace

std::vector<Statement> splitStatements(std::string_view text) { return Splitter(text).run(); }

}  // namespace msdbg::core

// From std::source_location to Frame: compilers give the whole signature of a function, people want its name.
#include <cctype>

#include "core_engine/graph/value.h"

namespace msdbg::core {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool isNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool endsWithWord(std::string_view text, std::string_view word) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text.ends_with(word) &&
         (text.size() == word.size() || !isNameChar(text[text.size() - word.size() - 1]));
}

/// The position after the bracket that closes the one at `open`; the end when there is none.
std::size_t skipGroup(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i + 1;
  }
  return text.size();
}

/// Where the parameter list of a signature without operators starts: the first '(' outside template arguments
/// that belongs neither to decltype(…), nor to (anonymous namespace), nor to a returned pointer `void
/// (*f(int))(double)`, nor to a function around a local class: `main()::Local::run()`.
std::size_t parameterList(std::string_view text) {
  int angles = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++angles;
    if (text[i] == '>' && angles > 0) --angles;
    if (text[i] != '(' || angles > 0) continue;
    const bool pointer = i + 1 < text.size() && (text[i + 1] == '*' || text[i + 1] == '&');
    if (pointer) continue;
    const std::size_t end = skipGroup(text, i);
    const std::string_view rest = text.substr(end);
    const bool skipped = text.substr(i).starts_with("(anonymous") ||
                         endsWithWord(text.substr(0, i), "decltype") || rest.starts_with("::") ||
                         rest.starts_with(" const::");
    if (!skipped) return i;
    i = end - 1;
  }
  return text.size();
}

/// "operator+" of "bool ns::operator+(A, B)"; "" when the signature has no operator.
std::string_view operatorName(std::string_view text) {
  for (std::size_t at = text.find("operator"); at != kNone; at = text.find("operator", at + 1)) {
    const std::size_t after = at + 8;
    if ((at > 0 && isNameChar(text[at - 1])) || after >= text.size() || isNameChar(text[after])) continue;
    const std::size_t from = text.substr(after).starts_with("()") ? after + 2 : after;
    std::string_view name = text.substr(at, text.find('(', from) - at);
    // "operator+<int>": clang writes template arguments; "operator<", "operator->" and "operator bool" have
    // none.
    const std::size_t angle = name.find('<', 10);
    if (angle != kNone && name.ends_with('>') && name[8] != ' ') name = name.substr(0, angle);
    return name;
  }
  return {};
}

/// The last name of `text`, without the template arguments that may follow it.
std::string_view lastName(std::string_view text) {
  if (text.ends_with('>')) {
    int depth = 0;
    std::size_t i = text.size();
    do {
      --i;
      if (text[i] == '>') ++depth;
      if (text[i] == '<') --depth;
    } while (i > 0 && depth > 0);
    text = text.substr(0, i);
  }
  std::size_t start = text.size();
  while (start > 0 && (isNameChar(text[start - 1]) || text[start - 1] == '~')) --start;
  return text.substr(start);
}

std::string unqualified(std::string_view signature) {
  if (const std::string_view name = operatorName(signature); !name.empty()) return std::string(name);
  const std::string_view name = lastName(signature.substr(0, parameterList(signature)));
  return std::string(name.empty() ? signature : name);
}

std::string functionName(std::string_view signature) {
  signature = signature.substr(0, signature.find(" [with "));  // GCC's template arguments
  if (signature.ends_with(']')) signature = signature.substr(0, signature.rfind(" ["));  // clang's
  // A lambda belongs to the function that holds it: "main()::<lambda(int)>"; clang writes "main()::(anonymous
  // class)::…".
  for (const std::string_view mark : {"::<lambda", "::(anonymous class)", "::(lambda"})
    if (const std::size_t at = signature.find(mark); at != kNone)
      return unqualified(signature.substr(0, at)) + "::<lambda>";
  return unqualified(signature);
}

}  // namespace

Frame frameFrom(const std::source_location& where, bool engine) {
  Frame frame;
  frame.file = where.file_name();
  while (frame.file.starts_with("./")) frame.file.erase(0, 2);
  frame.line = static_cast<std::int32_t>(where.line());
  frame.function = functionName(where.function_name());
  frame.engine = engine || frame.file.starts_with("core_engine/train/");
  return frame;
}

}  // namespace msdbg::core

#include <algorithm>
#include <cstdio>

#include "core_engine/base/text.h"

namespace msdbg::core {
namespace {

unsigned byteAt(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

/// Bytes of the UTF-8 character that the text starts with; 0: it starts with none (RFC 3629).
std::size_t characterLength(std::string_view text) {
  const unsigned lead = byteAt(text, 0), second = byteAt(text, 1);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  // The second byte alone tells longer forms than needed, surrogates and what lies beyond U+10FFFF.
  const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (second < least || second > most) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (std::size_t i = 2; i < length; ++i)
    if ((byteAt(text, i) & 0xC0) != 0x80) return 0;
  return length;
}

/// Of a character of one to three bytes; 0 of a longer one.
unsigned codePoint(std::string_view character) {
  const auto bits = [&](std::size_t i) { return byteAt(character, i) & 0x3Fu; };
  if (character.size() == 1) return byteAt(character, 0);
  if (character.size() == 2) return (byteAt(character, 0) & 0x1Fu) << 6 | bits(1);
  return character.size() == 3 ? (byteAt(character, 0) & 0x0Fu) << 12 | bits(1) << 6 | bits(2) : 0;
}

/// What moves or hides the text around it (Unicode's bidirectional controls, marks of no width, separators of
/// lines).
bool isInvisible(unsigned code) {
  return code == 0x61C || code == 0x200B || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

bool isControl(std::string_view character) {
  const unsigned code = codePoint(character);
  const bool control = character.size() < 3 && (code < 0x20 || (code >= 0x7F && code < 0xA0));  // C0, DEL, C1
  return control || isInvisible(code);
}

/// Of a control character, or of a byte that is none at all.
std::string escaped(std::string_view character) {
  switch (character[0]) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  char text[16];
  if (character.size() > 1)
    std::snprintf(text, sizeof text, "\\u%04x", codePoint(character));
  else
    std::snprintf(text, sizeof text, "\\x%02x", byteAt(character, 0));
  return text;
}

bool plainInShell(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || byte >= 0x80;
  return letter || (c >= '0' && c <= '9') || std::string_view("@%+=:,./-_").find(c) != std::string_view::npos;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = characterLength(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || isControl(character))
      out += escaped(character);
    else
      out += character;
    text.remove_prefix(character.size());
  }
  return out;
}

std::string shellQuoted(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, plainInShell)) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace msdbg::core

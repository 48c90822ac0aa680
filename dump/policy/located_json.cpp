#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "dump/policy/located_json_internal.h"

namespace msdbg::dump {
namespace {

using core::Error;
using core::ErrorCode;

constexpr std::size_t kDeepest = 16;

// Tells how far the parser has read: its SAX interface does not.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* read) : m_at(at), m_read(read) {}
  reference operator*() const { return *m_at; }
  CountingIterator& operator++() {
    ++m_at;
    ++*m_read;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return m_at == other.m_at; }

 private:
  const char* m_at;
  std::size_t* m_read;
};

// Notes the line of every key and of every element of an array.
class LineScan : public nlohmann::json_sax<Json> {
 public:
  LineScan(const std::string& text, const std::size_t& read) : m_text(text), m_read(read) {}

  std::map<std::string, int> lines;
  std::optional<Error> mistake;

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(-1); }
  bool start_array(std::size_t) override { return open(0); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    m_path = m_open.back().path + "/" + name;
    const auto [at, fresh] = lines.try_emplace(m_path, line());
    if (!fresh)
      mistake =
          Error(ErrorCode::kUsage, "line " + std::to_string(line()) + ": the key " + name +
                                       " is given twice, in line " + std::to_string(at->second) + " too");
    return fresh;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    const std::string_view text = error.what();
    const std::size_t at = text.find("line ");
    mistake = Error(ErrorCode::kUsage,
                    "not JSON: " + std::string(at == std::string_view::npos ? text : text.substr(at)));
    return false;
  }

 private:
  struct Open {
    std::string path;
    int next;  // of an array: its next element; of an object: -1
  };

  // The parser has read at most one character beyond what it tells of.
  int line() {
    for (; m_counted + 1 < m_read; ++m_counted) m_line += m_text[m_counted] == '\n';
    return m_line;
  }

  bool value() {
    if (m_open.empty() || m_open.back().next < 0) return true;
    m_path = m_open.back().path + "/" + std::to_string(m_open.back().next++);
    lines.try_emplace(m_path, line());
    return true;
  }

  bool open(int first) {
    if (m_open.size() == kDeepest) {
      mistake = Error(ErrorCode::kUsage, "line " + std::to_string(line()) + ": nested too deeply");
      return false;
    }
    value();
    m_open.push_back({m_path, first});
    return true;
  }

  bool close() {
    m_open.pop_back();
    return true;
  }

  const std::string& m_text;
  const std::size_t& m_read;
  std::size_t m_counted = 0;
  int m_line = 1;
  std::string m_path;  // of the value that comes next or was opened last
  std::vector<Open> m_open;
};

// An error is one line, whatever the file says: a line end in a key or value becomes \\n, anything else that
// a terminal would obey a question mark.
Error oneLine(const Error& error) {
  std::string text;
  for (const char c : error.message()) {
    const bool control = (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f';
    text += c == '\n' ? "\\n" : control ? "?" : std::string(1, c);
  }
  return {error.code(), text};
}

// "/rules/0/every" -> "rules[0].every"
std::string readable(const std::string& path) {
  std::string text;
  for (const std::string& part : core::split(path, '/')) {
    if (part.empty()) continue;
    const bool index = std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    text += index ? "[" + part + "]" : (text.empty() ? "" : ".") + part;
  }
  return text;
}

}  // namespace

core::Result<LocatedJson> LocatedJson::parse(const std::string& text) {
  std::size_t read = 0;
  LineScan scan(text, read);
  const CountingIterator begin(text.data(), &read), end(text.data() + text.size(), &read);
  if (!Json::sax_parse(begin, end, &scan, Json::input_format_t::json, true, true))
    return oneLine(*scan.mistake);
  LocatedJson json;
  json.m_lines = std::move(scan.lines);
  json.m_root = Json::parse(text, nullptr, false, true);
  if (!json.m_root.is_object()) return Error(ErrorCode::kUsage, "line 1: not a JSON object ({...})");
  return json;
}

core::Error LocatedJson::error(const JsonMistake& mistake) const {
  const auto at = m_lines.find(mistake.path);
  const std::string line = at == m_lines.end() ? "" : "line " + std::to_string(at->second) + ": ";
  return oneLine({ErrorCode::kUsage, line + readable(mistake.path) + ": " + mistake.what()});
}

}  // namespace msdbg::dump

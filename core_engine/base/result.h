// Result<T>: a value, or an Error that says what, where and what to do.
// What a file, a device or a user can cause travels as a Result; a programmer's mistake is an assertion.
// Value types; no threading contract of their own.
#pragma once

#include <cassert>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace msdbg::core {

/// What kind of failure it is; the command line turns it into an exit status.
enum class ErrorCode {
  kUsage,        // wrong option, value out of range, contradictory request        -> 2
  kNotFound,     // unknown name (nearest ones belong in the message)              -> 2
  kMissing,      // a run, file or folder that is not there                        -> 1
  kDamaged,      // bytes that contradict their own description or hash            -> 1
  kUnsupported,  // a newer format, an operator or dtype that is not implemented   -> 1
  kIo,           // the operating system said no (message carries path and errno)  -> 1
  kUnavailable,  // nothing to answer from: not recorded, not recomputable         -> 4
  kCancelled,    // Ctrl-C or a newer request                                      -> 130
  kInternal,     // a verifier found a broken invariant                            -> 1
};

class Error {
 public:
  Error(ErrorCode code, std::string message) : m_code(code), m_message(std::move(message)) {}

  ErrorCode code() const { return m_code; }
  /// One line: what, where, what to do. No trailing full stop or newline.
  const std::string& message() const { return m_message; }

  /// The same error with "where" put in front: "rank_0/segment_000003.h5: …".
  Error in(const std::string& where) const { return {m_code, where + ": " + m_message}; }

 private:
  ErrorCode m_code;
  std::string m_message;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return m_state.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    assert(ok());
    return *std::get_if<0>(&m_state);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&m_state);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&m_state));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&m_state);
  }
  /// For programs that use exceptions: the value, or std::runtime_error with the message.
  T orThrow() && {
    if (!ok()) throw std::runtime_error(error().message());
    return std::move(*this).value();
  }

 private:
  std::variant<T, Error> m_state;
};

/// Success without a value is `Ok{}`; Status converts from Ok and Error.
struct Ok {};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Ok) {}
  Status(Error error) : m_error(std::move(error)) {}

  bool ok() const { return !m_error.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    assert(!ok());
    return *m_error;
  }

 private:
  std::optional<Error> m_error;
};

}  // namespace msdbg::core

/// `MSDBG_TRY(expr)` returns the error of a Status; `MSDBG_ASSIGN(auto x, expr)` unwraps a Result or returns
/// its error.
#define MSDBG_CAT2(a, b) a##b
#define MSDBG_CAT(a, b) MSDBG_CAT2(a, b)
#define MSDBG_TRY(expr)                                                               \
  if (auto MSDBG_CAT(status_, __LINE__) = (expr); !MSDBG_CAT(status_, __LINE__).ok()) \
  return MSDBG_CAT(status_, __LINE__).error()
#define MSDBG_ASSIGN(declaration, expr)                                                \
  auto MSDBG_CAT(result_, __LINE__) = (expr);                                          \
  if (!MSDBG_CAT(result_, __LINE__).ok()) return MSDBG_CAT(result_, __LINE__).error(); \
  declaration = std::move(MSDBG_CAT(result_, __LINE__)).value()

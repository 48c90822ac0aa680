// Preloaded into a program (LD_PRELOAD), it lets calls on files of a run fail, as disks and networks do. One
// rule, in MSDBG_IO_FAULT: CALL:FIRST[+][:ERRNO] (ERRNO by number; `short` for writes of half the bytes). Of
// the calls of that kind on paths that contain MSDBG_IO_FAULT_PATH, the one with the number FIRST (from 1)
// fails; with `+` all from it on; with `-LAST` all up to LAST; with `~MILLISECONDS` all for so long. Calls:
// open, write, pwrite, fsync, rename, unlink, close, flock.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Rule {
  char call[16] = {};
  long first = 0, last = 0, milliseconds = 0;
  int error = EIO;
  bool isShort = false;
  char path[256] = "rank_";
};

Rule readRule() {
  Rule rule;
  if (const char* path = std::getenv("MSDBG_IO_FAULT_PATH"))
    std::snprintf(rule.path, sizeof rule.path, "%s", path);
  const char* text = std::getenv("MSDBG_IO_FAULT");
  if (!text) return rule;
  const char* colon = std::strchr(text, ':');
  if (!colon) return rule;
  std::snprintf(rule.call, sizeof rule.call, "%.*s", static_cast<int>(colon - text), text);
  char* end = nullptr;
  rule.first = rule.last = std::strtol(colon + 1, &end, 10);
  if (*end == '+') rule.last = LONG_MAX, ++end;
  if (*end == '-') rule.last = std::strtol(end + 1, &end, 10);
  if (*end == '~') rule.last = LONG_MAX, rule.milliseconds = std::strtol(end + 1, &end, 10);
  if (*end == ':') rule.isShort = std::strcmp(end + 1, "short") == 0;
  if (*end == ':' && !rule.isShort) rule.error = std::atoi(end + 1);
  return rule;
}

const Rule& rule() {
  static const Rule known = readRule();
  return known;
}

bool isOfRun(const char* path) { return path && std::strstr(path, rule().path); }

bool isOfRun(int descriptor) {
  char link[64], target[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = ::readlink(link, target, sizeof target - 1);
  if (length < 0) return false;
  target[length] = '\0';
  return isOfRun(target);
}

/// Whether this call is one of those that fail; counts it.
template <typename Of>
bool fails(const char* call, Of of) {
  if (std::strcmp(rule().call, call) != 0) return false;
  const int before = errno;
  const bool counts = isOfRun(of);
  errno = before;
  if (!counts) return false;
  static std::atomic<long> calls{0};
  const long number = ++calls;
  if (number < rule().first || number > rule().last) return false;
  static const auto begun = std::chrono::steady_clock::now();
  return rule().milliseconds == 0 ||
         std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(rule().milliseconds);
}

template <typename F>
F real(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

int failed() {
  errno = rule().error;
  return -1;
}

int openReal(const char* name, const char* path, int flags, mode_t mode) {
  if ((flags & O_ACCMODE) != O_RDONLY && fails("open", path)) return failed();
  return real<int (*)(const char*, int, mode_t)>(name)(path, flags, mode);
}

mode_t modeOf(int flags, va_list arguments) {
  return flags & (O_CREAT | O_TMPFILE) ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = modeOf(flags, arguments);
  va_end(arguments);
  return openReal("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = modeOf(flags, arguments);
  va_end(arguments);
  return openReal("open64", path, flags, mode);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  const auto next = real<ssize_t (*)(int, const void*, size_t)>("write");
  if (!fails("write", descriptor)) return next(descriptor, bytes, size);
  return rule().isShort && size > 1 ? next(descriptor, bytes, size / 2) : failed();
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t at) {
  const auto next = real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  if (!fails("pwrite", descriptor)) return next(descriptor, bytes, size, at);
  return rule().isShort && size > 1 ? next(descriptor, bytes, size / 2, at) : failed();
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off_t at) {
  return pwrite(descriptor, bytes, size, at);
}

ssize_t pwritev(int descriptor, const struct iovec* pieces, int count, off_t at) {
  return fails("pwrite", descriptor) ? failed()
                                     : real<ssize_t (*)(int, const struct iovec*, int, off_t)>("pwritev")(
                                           descriptor, pieces, count, at);
}

int fsync(int descriptor) {
  return fails("fsync", descriptor) ? failed() : real<int (*)(int)>("fsync")(descriptor);
}

int fdatasync(int descriptor) {
  return fails("fsync", descriptor) ? failed() : real<int (*)(int)>("fdatasync")(descriptor);
}

int rename(const char* from, const char* to) {
  return fails("rename", to) ? failed() : real<int (*)(const char*, const char*)>("rename")(from, to);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // fcntl.h has a struct of this name
int flock(int descriptor, int operation) noexcept {
  return fails("flock", descriptor) ? failed() : real<int (*)(int, int)>("flock")(descriptor, operation);
}
#pragma GCC diagnostic pop

int unlink(const char* path) {
  return fails("unlink", path) ? failed() : real<int (*)(const char*)>("unlink")(path);
}

/// The descriptor is gone all the same, as on Linux and NFS.
int close(int descriptor) {
  const bool fail = fails("close", descriptor);
  const int result = real<int (*)(int)>("close")(descriptor);
  return fail ? failed() : result;
}

}  // extern "C"

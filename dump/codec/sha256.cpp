#include "dump/codec/sha256.h"

#include <openssl/sha.h>

namespace msdbg::dump {

std::string sha256(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  std::string text;
  for (const unsigned char byte : digest) (text += kDigits[byte >> 4]) += kDigits[byte & 15];
  return text;
}

}  // namespace msdbg::dump

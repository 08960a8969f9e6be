#include "base/sha256.h"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/files.h"

namespace tokitai::base {
namespace {

using Bytes = std::array<unsigned char, crypto_hash_sha256_BYTES>;

std::string hex_of(const Bytes& bytes) {
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

bool is_digest(std::string_view text) {
  return text.size() == 2 * crypto_hash_sha256_BYTES &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string sha256(std::string_view bytes) {
  Bytes out;
  crypto_hash_sha256(out.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  return hex_of(out);
}

struct RunningSha256::State {
  crypto_hash_sha256_state sodium;
};
RunningSha256::RunningSha256() : state_(std::make_unique<State>()) { crypto_hash_sha256_init(&state_->sodium); }
RunningSha256::~RunningSha256() = default;
void RunningSha256::add(std::string_view bytes) {
  crypto_hash_sha256_update(&state_->sodium, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}
std::string RunningSha256::hex() {
  Bytes out;
  crypto_hash_sha256_final(&state_->sodium, out.data());
  return hex_of(out);
}

PartsDigest& PartsDigest::add(std::string_view part) {
  std::uint64_t size = part.size();
  for (int i = 0; i < 8; ++i, size >>= 8) bytes_ += static_cast<char>(size & 0xff);
  bytes_ += part;
  return *this;
}

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
  const auto refuse = [&](std::string_view why) {
    return Status(Code::unavailable, fmt::format("cannot read {}: {}", path.string(), why));
  };
  const auto file = open_regular(path);
  if (!file.ok()) return refuse(file.status().message());
  RunningSha256 digest;
  std::vector<char> buffer(1 << 20);
  for (;;) {
    const ssize_t got = ::read(file->descriptor.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(std::strerror(errno));
    if (got == 0) break;
    digest.add({buffer.data(), static_cast<std::size_t>(got)});
  }
  return digest.hex();
}

Result<std::string> sha256_of_file(const std::filesystem::path& path, const std::filesystem::path& memory) {
  struct stat about{};
  if (memory.empty() || ::stat(path.c_str(), &about) != 0) return sha256_of_file(path);
  const std::string name =
      PartsDigest()
          .add(path.string())
          .add(fmt::format("{} {} {} {}.{} {}.{}", about.st_dev, about.st_ino, about.st_size, about.st_mtim.tv_sec,
                           about.st_mtim.tv_nsec, about.st_ctim.tv_sec, about.st_ctim.tv_nsec))
          .hex();
  // A note is the digest and the digest of both, so that a damaged one is not believed.
  const auto note_of = [&](const std::string& digest) { return digest + " " + sha256(name + digest) + "\n"; };
  if (const auto note = read_own_file(memory / name); note.ok()) {
    const std::string digest = note.value().substr(0, 2 * crypto_hash_sha256_BYTES);
    if (is_digest(digest) && note.value() == note_of(digest)) return digest;
  }
  auto digest = sha256_of_file(path);
  if (digest.ok()) {
    // Not to be able to remember is no error: the digest is made again next time.
    if (make_own_folders(memory).ok()) (void)replace_file(memory / name, note_of(digest.value()));
  }
  return digest;
}

}  // namespace tokitai::base

#include "evidence/key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/sha256.h"
#include "evidence/base64.h"

namespace tokitai::evidence {
namespace {

// What stands before the 32 bytes of an ed25519 key in DER: the same for every key (RFC 8410).
constexpr std::string_view kPrivateHead("\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20", 16);
constexpr std::string_view kPublicHead("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12);
constexpr std::int64_t kLargestFile = 4096;

std::string armoured(std::string_view label, std::string_view der) {
  return fmt::format("-----BEGIN {0}-----\n{1}\n-----END {0}-----\n", label, to_base64(der));
}

// The 32 bytes behind `head`, where the text is such a key.
template <class Bytes>
bool disarmoured(std::string_view text, std::string_view label, std::string_view head, Bytes& key) {
  const std::string begin = fmt::format("-----BEGIN {}-----\n", label),
                    end = fmt::format("\n-----END {}-----\n", label);
  if (!text.starts_with(begin) || !text.ends_with(end) || text.size() < begin.size() + end.size()) return false;
  text = text.substr(begin.size(), text.size() - begin.size() - end.size());
  auto der = from_base64(text);
  const bool good = der && der->size() == head.size() + key.size() && der->starts_with(head);
  if (good) std::memcpy(key.data(), der->data() + head.size(), key.size());
  if (der) sodium_memzero(der->data(), der->size());
  return good;
}

Status create(const std::filesystem::path& path, std::string_view text, mode_t mode) {
  const base::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!file && errno == EEXIST)
    return Status::invalid(fmt::format("{} is there already; a key is never written over another", path.string()));
  const bool written = file && ::fchmod(file.get(), mode) == 0 &&
                       ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(file.get()) == 0;
  if (written) return {};
  const std::string why = std::strerror(errno);
  if (file) ::unlink(path.c_str());
  return Status::invalid(fmt::format("cannot write {}: {}", path.string(), why));
}

struct Text {
  std::string bytes;
  mode_t mode = 0;
  Text() = default;
  Text(Text&& other) = default;
  Text& operator=(Text&&) = default;
  ~Text() { sodium_memzero(bytes.data(), bytes.size()); }
};
Result<Text> read(const std::filesystem::path& path) {
  const auto refuse = [&](std::string_view why) {
    return Status::invalid(fmt::format("cannot read the key {}: {}", path.string(), why));
  };
  const auto file = base::open_regular(path);
  if (!file.ok()) return refuse(file.status().message());
  if (file->about.st_size > kLargestFile) return Status::invalid(fmt::format("{} is no key file", path.string()));
  Text text;
  text.mode = file->about.st_mode;
  text.bytes.resize(static_cast<std::size_t>(file->about.st_size));
  if (::read(file->descriptor.get(), text.bytes.data(), text.bytes.size()) != file->about.st_size)
    return refuse(std::strerror(errno));
  return text;
}

}  // namespace

std::string PublicKey::id() const {
  return base::sha256({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()});
}
std::string PublicKey::pem() const {
  return armoured("PUBLIC KEY",
                  std::string(kPublicHead) + std::string(reinterpret_cast<const char*>(bytes_.data()), bytes_.size()));
}
bool PublicKey::verifies(std::string_view signature, std::string_view message) const {
  return signature.size() == crypto_sign_BYTES &&
         crypto_sign_verify_detached(reinterpret_cast<const unsigned char*>(signature.data()),
                                     reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                                     bytes_.data()) == 0;
}

PrivateKey PrivateKey::random() {
  Seed seed;
  randombytes_buf(seed.data(), seed.size());
  PrivateKey key(seed);
  sodium_memzero(seed.data(), seed.size());
  return key;
}
PrivateKey::PrivateKey(const Seed& seed) {
  PublicKey::Bytes ignored;
  crypto_sign_seed_keypair(ignored.data(), secret_.data(), seed.data());
}
PrivateKey::PrivateKey(PrivateKey&& other) noexcept : secret_(other.secret_) {
  sodium_memzero(other.secret_.data(), other.secret_.size());
}
PrivateKey::~PrivateKey() { sodium_memzero(secret_.data(), secret_.size()); }

PublicKey PrivateKey::public_key() const {
  PublicKey::Bytes bytes;
  std::copy(secret_.begin() + 32, secret_.end(), bytes.begin());
  return PublicKey(bytes);
}
std::string PrivateKey::sign(std::string_view message) const {
  std::string signature(crypto_sign_BYTES, '\0');
  crypto_sign_detached(reinterpret_cast<unsigned char*>(signature.data()), nullptr,
                       reinterpret_cast<const unsigned char*>(message.data()), message.size(), secret_.data());
  return signature;
}
Status PrivateKey::write(const std::filesystem::path& path) const {
  std::string der(kPrivateHead);
  der.append(reinterpret_cast<const char*>(secret_.data()), 32);
  std::string text = armoured("PRIVATE KEY", der);
  Status status = create(path, text, 0600);
  sodium_memzero(der.data(), der.size());
  sodium_memzero(text.data(), text.size());
  return status;
}

Result<PrivateKey> read_private_key(const std::filesystem::path& path) {
  const auto text = read(path);
  if (!text.ok()) return text.status();
  PrivateKey::Seed seed;
  if (!disarmoured(text->bytes, "PRIVATE KEY", kPrivateHead, seed))
    return Status::invalid(fmt::format("{} holds no ed25519 private key; tokitai key new makes one", path.string()));
  PrivateKey key(seed);
  sodium_memzero(seed.data(), seed.size());
  if ((text->mode & 077) != 0)
    return Status::invalid(fmt::format("the private key {} can be read by others (mode {:o}); chmod 600 it",
                                       path.string(), text->mode & 0777));
  return key;
}

Result<PublicKey> read_public_key(const std::filesystem::path& path) {
  const auto text = read(path);
  if (!text.ok()) return text.status();
  PublicKey::Bytes bytes;
  if (disarmoured(text->bytes, "PUBLIC KEY", kPublicHead, bytes)) return PublicKey(bytes);
  const auto whole = read_private_key(path);
  if (whole.ok()) return whole->public_key();
  if (text->bytes.find("PRIVATE KEY") != std::string::npos) return whole.status();
  return Status::invalid(fmt::format("{} holds no ed25519 key", path.string()));
}

Result<PublicKey> make_key_files(const std::filesystem::path& path) {
  const PrivateKey key = PrivateKey::random();
  if (Status s = key.write(path); !s.ok()) return s;
  const PublicKey shown = key.public_key();
  std::filesystem::path beside = path;
  beside += ".pub";
  if (Status s = create(beside, shown.pem(), 0644); !s.ok()) {
    ::unlink(path.c_str());  // ours, made a moment ago
    return s;
  }
  return shown;
}

}  // namespace tokitai::evidence

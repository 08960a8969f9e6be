// Keys that evidence is signed with: ed25519, in PEM files that other tools read too (PKCS #8 and
// SubjectPublicKeyInfo, RFC 8410). A private key leaves its file only into this process's memory, which is wiped.
#pragma once
#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "tokitai/status.h"

namespace tokitai::evidence {

class PublicKey {
 public:
  using Bytes = std::array<unsigned char, 32>;
  explicit PublicKey(const Bytes& bytes) : bytes_(bytes) {}

  // SHA-256 of the 32 bytes, in hexadecimal.
  std::string id() const;
  std::string pem() const;
  bool verifies(std::string_view signature, std::string_view message) const;
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

class PrivateKey {
 public:
  using Seed = std::array<unsigned char, 32>;
  static PrivateKey random();
  explicit PrivateKey(const Seed& seed);
  ~PrivateKey();
  PrivateKey(PrivateKey&& other) noexcept;
  PrivateKey& operator=(PrivateKey&&) = delete;

  PublicKey public_key() const;
  std::string sign(std::string_view message) const;  // 64 bytes
  // A new file that only its owner may read; an existing one is never written over.
  Status write(const std::filesystem::path& path) const;

 private:
  std::array<unsigned char, 64> secret_;  // seed and public key, as libsodium keeps them
};

// Refused: a file that is no such key, or one that others than its owner may read.
Result<PrivateKey> read_private_key(const std::filesystem::path& path);
// The public half from either file of a pair.
Result<PublicKey> read_public_key(const std::filesystem::path& path);

// Writes FILE and FILE.pub, both new, or neither.
Result<PublicKey> make_key_files(const std::filesystem::path& path);

}  // namespace tokitai::evidence

// A signed statement: a DSSE envelope (https://github.com/secure-systems-lab/dsse), its payload an in-toto statement.
#pragma once
#include <string>
#include <string_view>

#include "evidence/key.h"

namespace tokitai::evidence {

inline constexpr std::string_view kPayloadType = "application/vnd.in-toto+json";

// What is signed: the type and the payload, each with its length before it, so that neither can grow into the other.
std::string pre_authentication_encoding(std::string_view type, std::string_view payload);

// The whole file: one line of JSON.
std::string sealed(std::string_view payload, const PrivateKey& key);

struct Envelope {
  std::string payload, keyid, signature;
};
// Whether JSON text looks like an envelope rather than a bare statement is the caller's to ask. `invalid` names what
// is no part of one; check_failed: it could be read, but sealed() would have written other bytes.
Result<Envelope> read_envelope(std::string_view text);
// check_failed says which of keyid and signature does not fit the key.
Status check_signature(const Envelope& envelope, const PublicKey& key);

}  // namespace tokitai::evidence

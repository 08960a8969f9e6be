#include "evidence/envelope.h"

#include <fmt/format.h>

#include "evidence/base64.h"
#include "evidence/bounded_json.h"
#include "reports/contract_json.h"

namespace tokitai::evidence {
namespace {

std::string file_text(std::string_view payload, std::string_view keyid, std::string_view signature) {
  const nlohmann::json document = {{"payload", to_base64(payload)},
                                   {"payloadType", kPayloadType},
                                   {"signatures", {{{"keyid", keyid}, {"sig", to_base64(signature)}}}}};
  return canonical(document) + "\n";
}

}  // namespace

std::string pre_authentication_encoding(std::string_view type, std::string_view payload) {
  return fmt::format("DSSEv1 {} {} {} {}", type.size(), type, payload.size(), payload);
}

std::string sealed(std::string_view payload, const PrivateKey& key) {
  return file_text(payload, key.public_key().id(), key.sign(pre_authentication_encoding(kPayloadType, payload)));
}

Result<Envelope> read_envelope(std::string_view text) {
  const auto document = parse_bounded(text);
  if (!document.ok()) return document.status();
  Fields envelope(document.value(), "$");
  const std::string payload = envelope.string("payload"), type = envelope.string("payloadType");
  std::string keyid, signature;
  envelope.array("signatures", 1, 1, [&](Fields& one) {
    keyid = one.digest("keyid");
    signature = one.string("sig");
  });
  if (Status s = envelope.end(); !s.ok()) return s;
  if (type != kPayloadType)
    return Status::invalid(fmt::format("$.payloadType is \"{}\"; it must be \"{}\"", type, kPayloadType));
  auto payload_bytes = from_base64(payload), signature_bytes = from_base64(signature);
  if (!payload_bytes) return Status::invalid("$.payload is not base64");
  if (!signature_bytes || signature_bytes->size() != 64)
    return Status::invalid("$.signatures[0].sig is not the base64 of 64 bytes");
  // One statement, one file: what could be changed without breaking the signature is refused, too.
  if (file_text(*payload_bytes, keyid, *signature_bytes) != text)
    return Status(Code::check_failed, "the envelope is not byte for byte as it was written");
  return Envelope{*std::move(payload_bytes), std::move(keyid), *std::move(signature_bytes)};
}

Status check_signature(const Envelope& envelope, const PublicKey& key) {
  if (envelope.keyid != key.id())
    return {Code::check_failed,
            fmt::format("signed with key {}, not with the one given, {}", envelope.keyid, key.id())};
  if (!key.verifies(envelope.signature, pre_authentication_encoding(kPayloadType, envelope.payload)))
    return {Code::check_failed, fmt::format("the signature of key {} does not fit the payload", envelope.keyid)};
  return {};
}

}  // namespace tokitai::evidence

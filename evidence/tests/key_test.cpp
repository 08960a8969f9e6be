// Keys and envelopes: what is written can be read by others, a private key stays private, and nothing else verifies.
#include "evidence/key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/files.h"
#include "evidence/base64.h"
#include "evidence/envelope.h"
#include "evidence/tests/sample.h"

namespace tokitai::evidence {
namespace {

namespace fs = std::filesystem;

class KeyFiles : public ::testing::Test {
 protected:
  base::TemporaryFolder folder_ = base::TemporaryFolder::make().value();
  fs::path path_ = folder_.path() / "mine.key";
};

std::string text_of(const fs::path& path) { return base::read_file(path).value(); }
mode_t mode_of(const fs::path& path) {
  struct stat about{};
  return stat(path.c_str(), &about) == 0 ? about.st_mode & 0777 : 0;
}

TEST_F(KeyFiles, AreReadBackAndOnlyTheOwnerReadsThePrivateOne) {
  const mode_t before = umask(0);
  const auto made = make_key_files(path_);
  umask(before);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(mode_of(path_), 0600u);
  EXPECT_EQ(read_private_key(path_)->public_key().id(), made->id());
  EXPECT_EQ(read_public_key(path_)->id(), made->id());
  EXPECT_EQ(read_public_key(path_.string() + ".pub")->id(), made->id());
}

TEST_F(KeyFiles, AreNeverWrittenOver) {
  ASSERT_TRUE(make_key_files(path_).ok());
  const std::string before = text_of(path_);
  const auto again = make_key_files(path_);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().code(), Code::invalid);
  EXPECT_EQ(text_of(path_), before);
  // Where only the public file is in the way, no private one is left behind.
  fs::remove(path_);
  EXPECT_FALSE(make_key_files(path_).ok());
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(KeyFiles, AreDifferentEachTime) {
  EXPECT_NE(make_key_files(path_)->id(), make_key_files(folder_.path() / "other.key")->id());
}

TEST_F(KeyFiles, AreRefusedWhereOthersMayReadThem) {
  ASSERT_TRUE(make_key_files(path_).ok());
  fs::permissions(path_, fs::perms::group_read, fs::perm_options::add);
  const auto read = read_private_key(path_);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("mode 640"), std::string::npos) << read.status().message();
}

TEST_F(KeyFiles, AreRefusedWhereTheyAreNoKeys) {
  ASSERT_TRUE(make_key_files(path_).ok());
  const std::string good = text_of(path_);
  for (const std::string& wrong : {std::string(), std::string("hello\n"), good.substr(0, 60), good + "x",
                                   std::string(5000, 'A'), text_of(path_.string() + ".pub")}) {
    const fs::path file = folder_.path() / "wrong";
    std::ofstream(file) << wrong;
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_FALSE(read_private_key(file).ok()) << wrong;
  }
  EXPECT_FALSE(read_public_key(folder_.path() / "absent").ok());
  EXPECT_FALSE(read_public_key(folder_.path()).ok());
}

TEST_F(KeyFiles, LeaveNothingOfThePrivateKeyInABundle) {
  const PrivateKey key = sample_key(7);
  ASSERT_TRUE(key.write(path_).ok());
  const std::string seed(32, '\7');
  std::istringstream lines(text_of(path_));
  std::string base64;
  std::getline(lines, base64);
  std::getline(lines, base64);  // the line between the dashes
  for (const ReportFile& file : bundle(sample_predicate(), &key)) {
    EXPECT_EQ(file.text.find(seed), std::string::npos) << file.name;
    EXPECT_EQ(file.text.find(base64), std::string::npos) << file.name;
    EXPECT_EQ(file.text.find(to_base64(seed)), std::string::npos) << file.name;
  }
}

TEST(Base64, HasOneTextForGivenBytes) {
  EXPECT_EQ(to_base64("any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
  EXPECT_EQ(from_base64("YW55IGNhcm5hbCBwbGVhcw=="), "any carnal pleas");
  EXPECT_EQ(from_base64(""), "");
  for (const char* wrong : {"YW55IGNhcm5hbCBwbGVhcw=", "YW55IGNhcm5hbCBwbGVhcx==", "YW55 GNhcm5hbCBwbGVhcw==", "YW5",
                            "YW5-", "YW55IGNhcm5hbCBwbGVhcw==\n"})
    EXPECT_FALSE(from_base64(wrong)) << wrong;
}

TEST(Envelope, EncodesAsTheSpecificationsExampleDoes) {
  EXPECT_EQ(pre_authentication_encoding("http://example.com/HelloWorld", "hello world"),
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

TEST(Envelope, IsReadBackAndVerifiesWithItsKeyAlone) {
  const PrivateKey key = sample_key(1), other = sample_key(2);
  const auto envelope = read_envelope(sealed("payload", key));
  ASSERT_TRUE(envelope.ok()) << envelope.status().message();
  EXPECT_EQ(envelope->payload, "payload");
  EXPECT_TRUE(check_signature(envelope.value(), key.public_key()).ok());
  EXPECT_EQ(check_signature(envelope.value(), other.public_key()).code(), Code::check_failed);
  Envelope forged = envelope.value();
  forged.keyid = other.public_key().id();  // the name of another key does not make it that key's signature
  EXPECT_EQ(check_signature(forged, other.public_key()).code(), Code::check_failed);
  forged = envelope.value();
  forged.payload += " ";
  EXPECT_EQ(check_signature(forged, key.public_key()).code(), Code::check_failed);
}

// RFC 8032, section 7.1, test 2.
TEST(Key, SignsAsEd25519IsSpecified) {
  const auto bytes = [](std::string_view hex) {
    std::string out;
    for (std::size_t i = 0; i < hex.size(); i += 2)
      out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    return out;
  };
  const std::string seed_text = bytes("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
  PrivateKey::Seed seed;
  std::copy(seed_text.begin(), seed_text.end(), seed.begin());
  EXPECT_EQ(PrivateKey(seed).sign("\x72"), bytes("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                                                 "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"));
}

}  // namespace
}  // namespace tokitai::evidence

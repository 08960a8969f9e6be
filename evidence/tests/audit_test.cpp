// An honest bundle is accepted; every way we could think of to change one, and thousands at random, is not.
#include "evidence/audit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <random>
#include <stdexcept>

#include "base/files.h"
#include "evidence/base64.h"
#include "evidence/envelope.h"
#include "evidence/replay.h"
#include "evidence/tests/sample.h"
#include "reports/contract_json.h"

namespace tokitai::evidence {
namespace {

using Json = nlohmann::json;

Status status_of(std::string_view text, const PrivateKey* key = nullptr) {
  return audit(text, key != nullptr ? std::optional(key->public_key()) : std::nullopt).status();
}

// The audit of an unsigned statement after an edit.
Status edited(const std::function<void(Json&)>& edit) {
  static const std::string honest = sample_evidence(nullptr);
  Json statement = Json::parse(honest);
  edit(statement);
  return status_of(statement.dump());
}
void expect(const Status& status, Code code, std::string_view part) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST(Audit, AcceptsAnHonestBundle) {
  const Status plain = status_of(sample_evidence(nullptr));
  EXPECT_TRUE(plain.ok()) << plain.message();
  const PrivateKey key = sample_key();
  const Status signed_one = status_of(sample_evidence(&key), &key);
  EXPECT_TRUE(signed_one.ok()) << signed_one.message();
}

TEST(Audit, ReadsBackWhatWasWritten) {
  const Predicate predicate = sample_predicate();
  const Audit a = audit(evidence_text(predicate, {}, nullptr), {});
  ASSERT_TRUE(a.statement);
  EXPECT_EQ(to_json(a.statement->predicate), to_json(predicate));
}

TEST(Audit, WantsTheKeyOfASignedBundleAndTheSignatureOfAGivenKey) {
  const PrivateKey key = sample_key(1), other = sample_key(2);
  expect(status_of(sample_evidence(&key)), Code::invalid, "name the file of that public key");
  expect(status_of(sample_evidence(nullptr), &key), Code::check_failed, "not signed");
  expect(status_of(sample_evidence(&other), &key), Code::check_failed, "not with the one given");
}

TEST(Audit, TellsWhatIsNoEvidence) {
  const std::string honest = sample_evidence(nullptr);
  expect(status_of(""), Code::invalid, "not JSON");
  expect(status_of("[]"), Code::invalid, "neither an in-toto statement nor a DSSE envelope");
  expect(status_of("{\"a\": 1}"), Code::invalid, "neither");
  expect(status_of(honest.substr(0, honest.size() / 2)), Code::invalid, "not JSON");
  expect(edited([](Json& s) { s["predicate"]["version"] = 2; }), Code::invalid, "$.predicate.version is 2");
  expect(edited([](Json& s) { s["_type"] = "https://in-toto.io/Statement/v0.1"; }), Code::invalid, "$._type");
  expect(edited([](Json& s) { s["predicateType"] = "https://slsa.dev/provenance/v1"; }), Code::invalid,
         "$.predicateType");
  expect(edited([](Json& s) { s["predicate"]["problems"][1]["runs"] = "many"; }), Code::invalid,
         "$.predicate.problems[1].runs is not an integer");
  expect(edited([](Json& s) { s["predicate"]["operators"][0].erase("claims"); }), Code::invalid,
         "$.predicate.operators[0].claims is missing");
  expect(edited([](Json& s) { s["predicate"]["more"] = 1; }), Code::invalid, "\"more\"");
  expect(edited([](Json& s) { s["predicate"]["problems"] = Json::array(); }), Code::invalid, "$.predicate.problems");
  expect(edited([](Json& s) { s["predicate"]["problems"][0]["seed"] = 2; }), Code::invalid, "seed");
}

TEST(Audit, TellsWhatDoesNotAgreeWithItself) {
  expect(edited([](Json& s) { s["predicate"]["problems"][0]["outputs_compared"] = 7; }), Code::check_failed,
         "counts of softmax.forward");
  expect(edited([](Json& s) { s["predicate"]["problems"][0]["mismatches"] = 1; }), Code::check_failed,
         "counts of softmax.forward");
  expect(edited([](Json& s) {
           s["predicate"]["problems"][0]["mismatches"] = 1;
           s["predicate"]["operators"][0]["mismatches"] = 1;
         }),
         Code::check_failed, "1 outputs differed");
  expect(edited([](Json& s) { s["predicate"]["problems"][0]["outputs"] = Json::object(); }), Code::check_failed,
         "no digest of its outputs");
  expect(edited([](Json& s) { s["predicate"]["operators"].erase(0); }), Code::check_failed, "softmax.forward");
  expect(edited([](Json& s) { s["predicate"]["operators"][0]["claims"][0] = "perfect"; }), Code::check_failed,
         "contract softmax.forward");
  expect(edited([](Json& s) { s["subject"].push_back(s["subject"][0]); }), Code::check_failed, "stands twice");
}

TEST(Audit, TellsASwappedDigest) {
  // Two subjects exchange their digests; then the predicate's copies do, too.
  const auto index_of = [](const Json& s, const std::string& name) {
    for (std::size_t i = 0; i < s["subject"].size(); ++i)
      if (s["subject"][i]["name"] == name) return i;
    return std::size_t{0};
  };
  const auto swap_subjects = [&](Json& s) {
    const std::size_t a = index_of(s, "contract/softmax.forward"), b = index_of(s, "contract/adamw.step");
    std::swap(s["subject"][a]["digest"], s["subject"][b]["digest"]);
  };
  expect(edited(swap_subjects), Code::check_failed, "subject contract/softmax.forward");
  expect(edited([&](Json& s) {
           swap_subjects(s);
           std::swap(s["predicate"]["operators"][0]["contract_sha256"],
                     s["predicate"]["operators"][1]["contract_sha256"]);
         }),
         Code::check_failed, "contract softmax.forward: differs from this tokitai's");
  expect(edited([](Json& s) { std::swap(s["subject"][0]["digest"], s["subject"][1]["digest"]); }), Code::check_failed,
         "differs from this tokitai's");
}

TEST(Audit, TellsProofsOfOtherTextAndClaimsThatAreNotProved) {
  expect(edited([](Json& s) {
           s["predicate"]["proofs"]["functions_sha256"]["machines/device/place_each.h"] = std::string(64, '0');
         }),
         Code::check_failed, "proved functions machines/device/place_each.h: differ from this tokitai's");
  expect(edited([](Json& s) { s["predicate"]["proofs"]["patterns"][0]["proved"] = 27; }), Code::check_failed,
         "not every claim is proved");
}

TEST(Audit, TellsAContractWithAnotherWord) {
  Predicate predicate = sample_predicate();
  Contract changed = *find_contract("adamw.step");
  changed.determinism = "the same bits on every device, for every thread count and any grouping into lists";
  for (OperatorEvidence& one : predicate.operators)
    if (one.result.name == changed.name) {
      one.contract_digest = contract_digest(changed);
      one.claims = claims_of(changed);
    }
  expect(status_of(evidence_text(predicate, {}, nullptr)), Code::check_failed,
         "contract adamw.step: differs from this tokitai's");
}

TEST(Audit, TellsAReportThatWasChanged) {
  const auto folder = base::TemporaryFolder::make();
  const auto files = bundle(sample_predicate(), nullptr);
  for (const ReportFile& file : files) std::ofstream(folder->path() / file.name) << file.text;
  EXPECT_TRUE(audit(files[0].text, {}, folder->path()).status().ok());
  std::ofstream(folder->path() / "report.html") << files[2].text << " ";
  expect(audit(files[0].text, {}, folder->path()).status(), Code::check_failed, "report.html: was changed");
  std::filesystem::remove(folder->path() / "report.html");
  EXPECT_TRUE(audit(files[0].text, {}, folder->path()).status().ok());  // not there is not changed
}

// One random change of the file's bytes.
std::string tampered(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::size_t at = below(text.size());
  switch (below(8)) {
    case 0: text[at] = static_cast<char>(text[at] ^ (1 << below(8))); break;
    case 1: text[at] = static_cast<char>(below(256)); break;
    case 2: text.erase(at, 1 + below(40)); break;
    case 3: text.insert(at, 1, static_cast<char>(below(256))); break;
    case 4: text.insert(at, 1, " \n\t\r"[below(4)]); break;
    case 5: std::swap(text[at], text[below(text.size())]); break;
    case 6: text.resize(at); break;
    default: text += text.substr(at, 1 + below(40));
  }
  return text;
}

TEST(Audit, RejectsThousandsOfRandomTamperings) {
  const PrivateKey key = sample_key();
  const std::string honest = sample_evidence(&key);
  std::mt19937 random(20240229);
  int tried = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = tampered(honest, random);
    if (text == honest) continue;
    ++tried;
    const Status status = status_of(text, &key);
    ASSERT_FALSE(status.ok()) << "tampering " << i << " was accepted";
    ASSERT_TRUE(status.code() == Code::check_failed || status.code() == Code::invalid);
  }
  EXPECT_GT(tried, 4000);
}

// The payload changed and put back into the envelope, with the old signature and with another key's.
TEST(Audit, RejectsThousandsOfRandomTamperingsOfThePayload) {
  const PrivateKey key = sample_key(1), other = sample_key(2);
  const std::string honest = sample_evidence(&key);
  const std::string payload = *from_base64(Json::parse(honest)["payload"].get<std::string>());
  std::mt19937 random(1729);
  for (int i = 0; i < 2000; ++i) {
    const std::string changed = tampered(payload, random);
    if (changed == payload) continue;
    Json envelope = Json::parse(honest);
    envelope["payload"] = to_base64(changed);
    ASSERT_EQ(status_of(canonical(envelope) + "\n", &key).code(), Code::check_failed) << "tampering " << i;
    ASSERT_EQ(status_of(sealed(changed, other), &key).code(), Code::check_failed) << "tampering " << i;
  }
  ASSERT_EQ(status_of(sealed(payload, other), &key).code(), Code::check_failed);
}

TEST(Replay, FindsTheSameBitsOnOtherDevicesAndThreadCounts) {
  const Predicate predicate = sample_predicate();
  for (const auto& [name, threads] : {std::pair("cpu", 2), std::pair("cpu", 5), std::pair("reference", 0)}) {
    Device device = open(name, {.threads = threads}).value();
    const auto result = replay(predicate.problems, device, {});
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->problems, 4);
    EXPECT_EQ(result->outputs, 1 + 1 + 3 + 2);
    EXPECT_EQ(result->differing, 0) << result->first_difference;
  }
}

TEST(Replay, TellsOtherInputsOtherOutputsAndMissingOnes) {
  Device device = open("reference").value();
  const auto difference = [&](const std::function<void(ProblemResult&)>& edit) {
    auto problems = sample_predicate().problems;
    edit(problems[2]);
    const auto result = replay(problems, device, {});
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result->differing, 1);
    return result->first_difference;
  };
  EXPECT_NE(difference([](ProblemResult& p) { p.outputs[0].second = std::string(64, '0'); }).find("theta after it"),
            std::string::npos);
  EXPECT_NE(difference([](ProblemResult& p) { p.inputs[0].second = std::string(64, '0'); }).find("before the run"),
            std::string::npos);
  EXPECT_NE(difference([](ProblemResult& p) { p.outputs.pop_back(); }).find("was not recorded"), std::string::npos);
  EXPECT_NE(difference([](ProblemResult& p) { p.outputs.emplace_back("extra", std::string(64, '0')); }), "");
}

// Of a line of a file that anyone may have written, 97 terms of a million empty tensors each are a gigabyte.
TEST(Audit, RefusesAListOfMoreTensorsThanAnyModelHas) {
  std::string many = "adamw.step t=1 n=1";
  for (int term = 0; term < 97; ++term) many += "+0*1048576";
  for (const std::string& line : {many, std::string("adamw.step t=1 n=1*65535+0*2")}) {
    const auto refused = problems::parse_problems(line);
    ASSERT_FALSE(refused.ok()) << line;
    EXPECT_NE(refused.status().message().find("more than 65536 tensors"), std::string::npos);
    expect(edited([&](Json& s) { s["predicate"]["problems"][2]["line"] = line; }), Code::check_failed, "65536 tensors");
  }
  EXPECT_EQ(problems::parse_problems("adamw.step t=1 n=1*65535+0").value().front().list.size(), 65536u);
}

TEST(Audit, LooksAtNoMoreTensorsThanABundleCanNeed) {
  Json statement = Json::parse(sample_evidence(nullptr));
  Json& problems = statement["predicate"]["problems"];
  for (int i = 0; i < 20; ++i) {
    problems.push_back(problems[2]);
    problems.back()["line"] = "adamw.step n=1*65535+" + std::to_string(i) + " t=1";
  }
  // Once, by the line that goes too far: those behind it are not looked at.
  const std::vector<Check> checks = audit(statement.dump(), {}).checks;
  EXPECT_EQ(std::count_if(checks.begin(), checks.end(),
                          [](const Check& c) { return c.text.find("1048576 tensors") != std::string::npos; }),
            1);
}

TEST(Replay, SaysWhyALineIsRefused) {
  Device device = open("reference").value();
  for (const auto& [line, why] : {std::pair("softmax.forward rows=-1 cols=5", "rows"),
                                  std::pair("softmax.forward rows=3 cols=5 pad=-9", "stride"),
                                  std::pair("gemm.forward m=8192 n=8192 k=8192", "1099914280960 operations and bytes"),
                                  std::pair("adamw.step n=17592186044415*65536 t=1", "bytes")}) {
    ProblemResult problem;
    problem.line = line;
    const auto result = replay({problem}, device, {});
    ASSERT_FALSE(result.ok()) << line;
    EXPECT_NE(result.status().message().find(why), std::string::npos) << result.status().message();
    EXPECT_EQ(result.status().message().find("memory"), std::string::npos) << result.status().message();
  }
}

std::vector<ProblemResult> lines(const std::vector<std::string>& texts) {
  std::vector<ProblemResult> all(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) all[i].line = texts[i];
  return all;
}

// Each is little, and all of them are too much: the first is not begun.
TEST(Replay, LimitsTheWorkOfABundleBeforeAnyIsDone) {
  Device device = open("reference").value();
  const Progress begun = [](const problems::Problem& problem, std::size_t, std::size_t) {
    throw std::logic_error("begun: " + problem.text());
  };
  for (const char* line : {"gemm.forward m=2048 n=2048 k=2048", "softmax.forward rows=2000000 cols=100"}) {
    const auto result = replay(lines(std::vector<std::string>(200, line)), device, begun);
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.status().message().find("operations and bytes"), std::string::npos) << result.status().message();
  }
}

TEST(Replay, TakesAllProblemsOfTheOperatorsOwnFiles) {
  std::vector<std::string> all;
  for (const problems::Use use : {problems::Use::verify, problems::Use::verify_gpu})
    for (const problems::Problem& problem : problems::for_use(use).value()) all.push_back(problem.text());
  const Status status = replayable(lines(all), 1);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Replay, CountsOperandsAndScratchMemory) {
  const std::int64_t half = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE) / 2;
  const auto status = [](const std::string& line, std::int64_t number) {
    return replayable(lines({line + std::to_string(number)}), 1);
  };
  // Two operands of 8 bytes an element; of the product 128 bytes of scratch for each inner index.
  const std::pair<const char*, std::int64_t> most[] = {{"softmax.forward cols=1000 rows=", half / 20000},
                                                       {"gemm.forward m=1 n=1 k=", half / 200}};
  for (const auto& [line, count] : most) {
    EXPECT_EQ(status(line, count).message().find("memory"), std::string::npos) << status(line, count).message();
    expect(status(line, 3 * count), Code::invalid, "half of this machine's memory");
  }
}

TEST(Replay, RefusesLinesThatStandForNoSingleProblemOrForTooMuchMemory) {
  Device device = open("reference").value();
  for (const char* line :
       {"", "softmax.forward", "softmax.sideways rows=3 cols=5", "softmax.forward rows=3,4 cols=5",
        "softmax.forward rows=99999999999 cols=99999999999", "softmax.forward rows=-3 cols=5",
        "softmax.forward rows=3 cols=9223372036854775807 pad=5", "softmax.forward rows=3 cols=5 pad=-9",
        "adamw.step n=9223372036854775807*1000 t=1", "softmax.forward rows=3 cols=5 fly=1"}) {
    ProblemResult problem;
    problem.line = line;
    const auto result = replay({problem}, device, {});
    EXPECT_EQ(result.status().code(), Code::invalid) << line;
  }
}

}  // namespace
}  // namespace tokitai::evidence

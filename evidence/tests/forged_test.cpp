// Bundles that were forged with care: signed again, and consistent where the forger thought of it. Every field of a
// good bundle is changed in turn, and the audit must refuse it, or it says here why that field only informs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <regex>
#include <set>

#include "base/files.h"
#include "evidence/audit.h"
#include "evidence/envelope.h"
#include "evidence/objections.h"
#include "evidence/report_text.h"
#include "evidence/tests/sample.h"
#include "reports/contract_json.h"

namespace tokitai::evidence {
namespace {

using Json = nlohmann::json;

const Json& honest() {
  static const Json statement = Json::parse(bundle(full_predicate(), nullptr)[0].text);
  return statement;
}

// As the forger gives it away: signed with a key that the auditor trusts, and the reports beside it.
Audit audit_of(const Json& statement) {
  static const PrivateKey key = sample_key();
  static const auto folder = [] {
    auto made = base::TemporaryFolder::make();
    for (const ReportFile& file : bundle(full_predicate(), nullptr))
      EXPECT_TRUE(base::write_file(made->path() / file.name, file.text).ok());
    return made;
  }();
  return audit(sealed(canonical(statement), key), key.public_key(), folder->path());
}
Status audited(const Json& statement) { return audit_of(statement).status(); }
Status forged(const std::function<void(Json&)>& edit) {
  Json statement = honest();
  edit(statement);
  return audited(statement);
}
void expect_refused(const Status& status, std::string_view part) {
  EXPECT_EQ(status.code(), Code::check_failed) << status.message();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST(Forged, TheHonestBundleHolds) {
  const Status status = audited(honest());
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Forged, BadNumbersAreRefusedThoughTheyAgree) {
  const auto both = [](const char* field, std::int64_t value) {
    return [=](Json& s) {
      s["predicate"]["problems"][0][field] = value;
      std::int64_t sum = 0;
      for (const Json& problem : s["predicate"]["problems"])
        if (problem["line"].get<std::string>().starts_with("softmax")) sum += problem[field].get<std::int64_t>();
      s["predicate"]["operators"][0][field] = sum;
    };
  };
  expect_refused(forged(both("mismatches", 1)), "1 outputs differed");
  expect_refused(forged(both("failed", 1)), "1 runs failed");
  expect_refused(forged(both("findings", 3)), "3 findings");
  expect_refused(forged(both("outputs_compared", 0)), "nothing was compared");
  expect_refused(forged(both("runs", 99)), "more often than there are ways");
  expect_refused(forged([](Json& s) { s["predicate"]["operators"][0]["error"]["exceeded"] = 1; }),
                 "true errors of softmax.forward: 1 outputs are beyond their derived bound");
  expect_refused(forged([](Json& s) { s["predicate"]["kernels"][0]["audit"] = "found fma.approx in row"; }),
                 "its audit says: found fma.approx in row");
  expect_refused(forged([](Json& s) {
                   s["predicate"]["proofs"]["patterns"][0]["claims"] = 0;
                   s["predicate"]["proofs"]["patterns"][0]["proved"] = 0;
                 }),
                 "not every claim is proved");
  expect_refused(forged([](Json& s) { s["predicate"]["proofs"]["functions_sha256"] = Json::object(); }),
                 "proved functions");
  expect_refused(forged([](Json& s) { s["predicate"]["non_claims"].erase(0); }), "non_claims");
  expect_refused(forged([](Json& s) { s["predicate"]["device"]["against"] = "a friend"; }), "compared with a friend");
  expect_refused(forged([](Json& s) {
                   s["subject"].push_back({{"name", "kernel/0000"}, {"digest", {{"sha256", std::string(64, '0')}}}});
                 }),
                 "nothing in the predicate speaks of it");
}

TEST(Forged, NumbersThatContradictEachOtherAreRefused) {
  const auto line = [](const char* text) { return [=](Json& s) { s["predicate"]["problems"][0]["line"] = text; }; };
  const auto count = [](const char* field, std::int64_t value) {
    return [=](Json& s) {
      Json& said = s["predicate"]["operators"][0][field];
      Json& one = s["predicate"]["problems"][0][field];
      said = said.get<std::int64_t>() - one.get<std::int64_t>() + value;
      one = value;
    };
  };
  // The first two problems are softmax.forward with rows=3 and cols=5 or 6.
  expect_refused(forged(count("runs", 0)), "of 0 runs");
  expect_refused(forged([&](Json& s) {
                   count("runs", 0)(s);
                   count("outputs_compared", 0)(s);
                 }),
                 "was not run");
  expect_refused(forged(count("outputs_compared", 16)), "16 outputs were compared, of 1 runs of 15 outputs");
  expect_refused(forged(line("softmax.forward rows=3 cols=6 type=f16 data=normal")), "stands twice");
  expect_refused(forged(line("softmax.forward rows=03 cols=6 type=f16 data=normal")), "stands twice");
  expect_refused(forged(line("softmax.forward rows=-3 cols=5 type=f16 data=normal")), "rows");
  expect_refused(forged(line("softmax.forward rows=3,4 cols=5 type=f16 data=normal")), "one problem");
  expect_refused(forged([](Json& s) {
                   Json& variants = s["predicate"]["variants"];
                   variants.push_back(variants[0]);
                 }),
                 "stands twice");
}

// Where a GPU was compared with the reference, that is said too.
TEST(Forged, NamesThatNoDeviceHasAreRefused) {
  const auto named = [](const std::string& name) {
    const std::vector<Check> checks = audit_of([&] {
                                        Json s = honest();
                                        s["predicate"]["device"]["name"] = name;
                                        return s;
                                      }())
                                          .checks;
    return std::none_of(checks.begin(), checks.end(), [&](const Check& check) {
      return check.verdict == Verdict::fails && check.text == "there is no device '" + name + "'";
    });
  };
  for (const char* name : {"cpu", "reference", "lockstep", "lockstep:64", "cuda:0", "amd:7", "worker:cpu",
                           "worker:lockstep:64", "worker:cuda:1", "unix:tokitai.socket", "unix:/run/a:b"})
    EXPECT_TRUE(named(name)) << name;
  for (const char* name : {"abacus",       "cpu:",    "reference:0",   "lockstep:",         "lockstep:63",
                           "cuda",         "cuda:",   "cuda:x",        "cuda:-1",           "amd:0x",
                           "worker",       "worker:", "worker:abacus", "worker:worker:cpu", "worker:unix:a",
                           "worker:cuda:", "unix",    "unix:",         "unix:worker:cpu",   "Cpu",
                           "cpu "})
    EXPECT_FALSE(named(name)) << name;
}

// 2^62 four times is 2^64: summed in 64 bits, nothing.
TEST(Forged, CountsThatWrapToASumAreRefused) {
  for (const char* field : {"runs", "outputs_compared", "mismatches", "failed", "accesses_checked", "findings"}) {
    Json s = honest();
    Json& problems = s["predicate"]["problems"];
    Json problem = problems[0];
    problem[field] = std::int64_t{1} << 62;
    Json& said = s["predicate"]["operators"][0];
    for (int i = 0; i < 4; ++i) problems.push_back(problem);
    for (const char* other : {"runs", "outputs_compared", "mismatches", "failed", "accesses_checked", "findings"})
      if (std::string(other) != field)
        said[other] = said[other].get<std::int64_t>() + 4 * problem[other].get<std::int64_t>();
    said["problems"] = said["problems"].get<std::int64_t>() + 4;
    const std::vector<Check> checks = audit_of(s).checks;
    EXPECT_TRUE(std::any_of(checks.begin(), checks.end(), [](const Check& check) {
      return check.what == "counts of softmax.forward" && check.verdict == Verdict::fails;
    })) << field;
  }
}

TEST(Forged, TheLargestCountsAreSummedWithoutWrapping) {
  const auto status = forged([](Json& s) {
    for (Json& one : s["predicate"]["proofs"]["patterns"]) one["claims"] = one["proved"] = INT64_MAX;
    Json more = s["predicate"]["proofs"]["patterns"][0];
    s["predicate"]["proofs"]["patterns"].push_back(more);
  });
  EXPECT_TRUE(status.ok()) << status.message();  // so many claims are odd, and said to be unchecked
}

// Fields that an audit cannot judge, and why. Everything else must be refused when it is changed.
const std::vector<std::pair<const char*, const char*>> kInformative = {
    {"tokitai|made|device/description|machine/\\w+|build/(compiler|flags)", "told by the maker; the non-claims say so"},
    {"device/name", "told by the maker; what a device's name asks for is looked at"},
    {"variants/\\d+", "how it was run, in words"},
    {"kernels/\\d+/(label|target|source_sha256|toolchain|command)", "tokitai compile makes the kernel again"},
    {"operators/\\d+/error/(worst_ulp|bound_ulp|tightest)", "measured; that they contradict each other is looked at"},
    {"operators/\\d+/error/bin_edges/\\d+", "measured; that they ascend is looked at"},
    {"operators/\\d+/speed/(repetitions|seconds|bytes|flops|copy_gb_per_s|problem)", "measured on another machine"},
    {"problems/\\d+/(line|inputs/\\w+|outputs/\\w+)", "--replay makes them again"},
    {"proofs/(solver|patterns/\\d+/(name|plans|seconds|slowest_seconds))", "tokitai prove decides the claims again"},
};
bool informs(const std::string& path) {
  return std::any_of(kInformative.begin(), kInformative.end(), [&](const auto& one) {
    return std::regex_match(path, std::regex(fmt::format("/predicate/({})", one.first)));
  });
}

void leaves(const Json& value, const std::string& path, std::vector<std::string>& all) {
  if (!value.is_structured()) return all.push_back(path);
  const Json flat = value;
  for (const auto& item : flat.items()) {
    std::string key = item.key();
    for (std::size_t at = 0; (at = key.find('/', at)) != std::string::npos; at += 2) key.replace(at, 1, "~1");
    leaves(item.value(), path + "/" + key, all);
  }
}

// The fields of a bundle, one of each kind; of the subjects all.
std::vector<std::string> fields() {
  std::vector<std::string> all, some;
  leaves(honest(), "", all);
  std::set<std::string> known;
  for (const std::string& path : all)
    if (path.starts_with("/subject/") || known.insert(std::regex_replace(path, std::regex("/\\d+"), "/#")).second)
      some.push_back(path);
  return some;
}

// Other values of the same type: digests stay digests, counts stay counts.
std::vector<Json> other_values(const Json& value) {
  if (value.is_string() && value.get<std::string>().size() == 64) return {std::string(64, '0')};
  if (value.is_string()) return {value.get<std::string>() + "x"};
  if (value.is_number_float()) return {value.get<double>() * 1.5 + 0.001};
  return {value.get<std::int64_t>() + 1, value == 0 ? INT64_MAX : 0};
}

TEST(Forged, EveryFieldIsLookedAtOrOnlyInforms) {
  const std::vector<std::string> paths = fields();
  ASSERT_GT(paths.size(), 100u);
  int refused = 0;
  for (const std::string& path : paths) {
    for (const Json& value : other_values(honest()[Json::json_pointer(path)])) {
      const Status status = forged([&](Json& s) { s[Json::json_pointer(path)] = value; });
      refused += status.ok() ? 0 : 1;
      EXPECT_TRUE(!status.ok() || informs(path)) << path << " = " << value << " was accepted";
      EXPECT_NE(status.code(), Code::internal) << path;
    }
  }
  EXPECT_GT(refused, 80);
}

TEST(Forged, NumbersThatAreNoneAreRefusedEverywhere) {
  for (const std::string& path : fields()) {
    if (path.starts_with("/subject/") && !path.starts_with("/subject/0/")) continue;
    const Json& value = honest()[Json::json_pointer(path)];
    std::vector<Json> bad = {-1, -0.5, nullptr, true, Json::array(), Json::object()};
    if (value.is_number_unsigned()) bad.insert(bad.end(), {1e300, 0.5, UINT64_MAX, std::uint64_t{1} << 63, "1"});
    if (value.is_string()) bad.insert(bad.end(), {1, ""});
    for (const Json& other : bad) {
      const Status status = forged([&](Json& s) { s[Json::json_pointer(path)] = other; });
      EXPECT_EQ(status.code(), Code::invalid) << path << " = " << other << ": " << status.message();
    }
  }
}

// The same judgement speaks in the reports and decides what `tokitai verify --report` ends with.
TEST(Forged, ReportsAndTheVerifierGoByTheSameJudgement) {
  EXPECT_TRUE(judged(full_predicate()).ok()) << judged(full_predicate()).message();
  const std::vector<std::function<void(Predicate&)>> faults = {
      [](Predicate& p) { p.operators[0].error->exceeded = 1; },
      [](Predicate& p) { p.operators[0].error->worst_ulp = 0.76; },
      [](Predicate& p) { p.operators[0].error->tightest = 1.01; },
      [](Predicate& p) { p.operators[0].result.checks.findings = p.problems[0].checks.findings = 1; },
      [](Predicate& p) { p.proofs->patterns[0].proved = 27; },
      [](Predicate& p) { p.kernels[0].audit = "something"; },
  };
  for (std::size_t i = 0; i < faults.size(); ++i) {
    Predicate predicate = full_predicate();
    faults[i](predicate);
    EXPECT_EQ(judged(predicate).code(), Code::check_failed) << i;
    EXPECT_NE(verdict(predicate).find("; but "), std::string::npos) << i << verdict(predicate);
    EXPECT_NE(report_html(predicate).find("verdict bad"), std::string::npos) << i;
  }
}

}  // namespace
}  // namespace tokitai::evidence

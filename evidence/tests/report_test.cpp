// Reports for people: complete, well formed, nothing from elsewhere, and drawings only of what was measured.
#include "evidence/report_text.h"

#include <gtest/gtest.h>

#include "evidence/svg.h"
#include "evidence/tests/sample.h"
#include "reports/page.h"

namespace tokitai::evidence {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Every tag is closed by its own name, in order. Enough for what we write: no comments, no '<' in attributes.
std::string unbalanced(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::size_t end = html.find('>', at);
    if (end == std::string::npos) return "a tag does not end";
    const std::string tag = html.substr(at + 1, end - at - 1);
    if (tag.starts_with("!") || tag.ends_with("/")) continue;
    const std::string name = tag.substr(tag.starts_with("/") ? 1 : 0, tag.find(' ') - (tag.starts_with("/") ? 1 : 0));
    if (!tag.starts_with("/"))
      open.push_back(name);
    else if (open.empty() || open.back() != name)
      return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
    else
      open.pop_back();
  }
  return open.empty() ? "" : "<" + open.back() + "> stays open";
}

// Made up, for the drawing alone.
ErrorFigures error_figures() {
  return {"softmax.forward", 1111, 0, 0.503, 0.75, 0.67, {0, 0.25, 0.5, 0.75}, {1000, 110, 1}};
}
SpeedFigures speed_figures() {
  return {"softmax.forward", "softmax.forward rows=3 cols=5", 7, 4000000, 16000000, 0.001, 8};
}

TEST(Report, HasEveryOperatorItsClaimsAndNonClaims) {
  const Predicate predicate = sample_predicate();
  for (const std::string& text : {report_html(predicate), report_markdown(predicate)}) {
    EXPECT_TRUE(has(text, verdict(predicate)));
    for (const OperatorEvidence& one : predicate.operators) {
      EXPECT_TRUE(has(text, one.result.name)) << one.result.name;
      EXPECT_TRUE(has(text, one.contract_digest)) << one.result.name;
      EXPECT_TRUE(has(text, one.claims[0]) && has(text, one.non_claims.back())) << one.result.name;
    }
    EXPECT_TRUE(has(text, predicate.non_claims[0]));
    EXPECT_TRUE(has(text, predicate.build.compiler));
  }
}

TEST(Report, IsOneWellFormedPageThatNeedsNothingElse) {
  Predicate predicate = sample_predicate();
  predicate.operators[0].error = error_figures();
  predicate.operators[0].speed = speed_figures();
  predicate.kernels.push_back({"softmax.forward row", "sm_90a", std::string(64, 'a'), "nvrtc 12", "nvrtc -O3",
                               std::string(64, 'b'), "nothing forbidden was found"});
  const std::string html = report_html(predicate);
  EXPECT_EQ(unbalanced(html), "");
  for (const char* elsewhere : {"http:", "https:", "//", "src=", "@import", "url(", "<script", "<link", "<iframe"})
    EXPECT_FALSE(has(html, elsewhere)) << elsewhere;
  EXPECT_TRUE(has(html, "name=\"viewport\""));
  EXPECT_TRUE(has(html, "prefers-color-scheme: dark"));
}

TEST(Report, TellsAFailureInTheFirstSentence) {
  Predicate predicate = sample_predicate();
  predicate.operators[0].result.mismatches = 2;
  predicate.operators[0].result.failed = 1;
  predicate.operators[0].result.first_failure = "y[0, 0]: expected <this> & \"that\"";
  EXPECT_TRUE(has(verdict(predicate), "2 of"));
  const std::string html = report_html(predicate);
  EXPECT_TRUE(has(html, "verdict bad"));
  EXPECT_TRUE(has(html, "expected &lt;this&gt; &amp; &quot;that&quot;"));
  EXPECT_EQ(unbalanced(html), "");
}

TEST(Report, DrawsOnlyWhatWasMeasured) {
  Predicate predicate = sample_predicate();
  EXPECT_FALSE(has(report_html(predicate), "<svg"));
  EXPECT_FALSE(has(report_html(predicate), "worst error"));
  predicate.operators[0].error = error_figures();
  EXPECT_TRUE(has(report_html(predicate), "0.503"));
  EXPECT_TRUE(has(report_markdown(predicate), "| 0.503 |"));
}

TEST(Report, GivesASpeedInTheUnitOfItsLimit) {
  SpeedFigures speed = speed_figures();
  EXPECT_EQ(speed_cell(speed), "50 % of copy");
  speed.flops = 400000000;  // a hundred for each byte
  EXPECT_EQ(speed_cell(speed), "400.0 GFLOP/s");
  EXPECT_FALSE(has(speed_sentence(speed), "copy"));
}

TEST(Drawing, HasABarForEveryFilledBin) {
  const std::string svg = error_histogram(error_figures());
  EXPECT_EQ(unbalanced(svg), "");
  std::size_t bars = 0;
  for (std::size_t at = svg.find("<rect"); at != std::string::npos; at = svg.find("<rect", at + 1)) ++bars;
  EXPECT_EQ(bars, 3u);
  EXPECT_TRUE(has(svg, "0.25 to 0.5: 110"));
}

TEST(Drawing, PutsTheMeasuredPointUnderTheRoof) {
  const std::string svg = roofline(speed_figures());
  EXPECT_EQ(unbalanced(svg), "");
  EXPECT_TRUE(has(svg, "16.0 GFLOP/s, 4.0 GB/s"));
  EXPECT_TRUE(has(svg, "class=\"roof\""));
}

TEST(Drawing, IsEmptyWhereThereIsNothingToDraw) {
  ErrorFigures error = error_figures();
  error.bins.clear();
  EXPECT_EQ(error_histogram(error), "");
  SpeedFigures speed = speed_figures();
  speed.flops = 0;
  EXPECT_EQ(roofline(speed), "");
}

TEST(Grouped, PutsACommaBeforeEachThreeDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(12345678), "12,345,678");
}

}  // namespace
}  // namespace tokitai::evidence

#include "evidence/bundle.h"

#include "evidence/report_text.h"

namespace tokitai::evidence {

std::vector<ReportFile> bundle(const Predicate& predicate, const PrivateKey* key) {
  std::vector<ReportFile> files = {{"report.md", report_markdown(predicate)}, {"report.html", report_html(predicate)}};
  files.insert(files.begin(), {"evidence.json", evidence_text(predicate, files, key)});
  return files;
}

}  // namespace tokitai::evidence

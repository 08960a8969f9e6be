#include "evidence/bundle.h"

#include "evidence/report_text.h"

namespace tokitai::evidence {

std::vector<ReportFile> bundle(const Predicate& predicate, const PrivateKey* key) {
  std::vector<ReportFile> files = {{kReportFiles[0], report_markdown(predicate)},
                                   {kReportFiles[1], report_html(predicate)}};
  files.insert(files.begin(), {kEvidenceFile, evidence_text(predicate, files, key)});
  return files;
}

}  // namespace tokitai::evidence
